"""`fluxmem view`: a page of a namespace, a run or a skill; what a browser makes of it is in tests/browser."""

import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest

from fluxmem_cli.demo import load_example
from fluxmem_cli.view import COLOURS
from fluxmem_graph import FluxMem, Settings
from fluxmem_graph.statements import cypher_folder
from tests.cli.conftest import Fluxmem


@pytest.fixture
def example(fluxmem: Fluxmem, namespace: str, server_settings: Settings) -> FluxMem:
    memory = FluxMem.connect(server_settings.model_copy(update={"namespace": namespace}))
    load_example(memory)
    return memory


def data(page: Path) -> Any:
    """Return what a page draws: the one block of data in it."""
    (block,) = re.findall(
        r'<script type="application/json" id="neo4j-viz-data">(.*?)</script>',
        page.read_text(encoding="utf-8"),
    )
    return json.loads(block)


def kinds(page: Path) -> set[str]:
    return {node["properties"]["kind"] for node in data(page)["nodes"]}


def test_a_page_of_a_namespace_a_run_and_a_skill(fluxmem: Fluxmem, example: FluxMem, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    shown = fluxmem("view", "--output", page, "--json").json
    drawn = data(page)
    assert (shown["nodes"], shown["links"]) == (len(drawn["nodes"]), len(drawn["relationships"]))
    assert kinds(page) == {"semantic", "episodic", "procedural", "entity"}
    weights = [link["properties"].get("weight") for link in drawn["relationships"]]
    assert any(weight is not None and weight > 0.5 for weight in weights)

    run = example.match({"practice": True})[0].id
    fluxmem("view", "--episode", run, "--output", page, "--json")
    assert kinds(page) == {"semantic", "episodic", "procedural", "step"}
    assert {node["id"] for node in data(page)["nodes"]} >= {run}

    skill = example.skills()[0]
    fluxmem("view", "--skill", skill.skill_id, "--output", page, "--json")
    assert {node["id"] for node in data(page)["nodes"]} >= {skill.id, *skill.sources}


def test_a_picture_is_bounded_and_shows_the_most_telling_first(
    fluxmem: Fluxmem, example: FluxMem, tmp_path: Path
) -> None:
    page = tmp_path / "page.html"
    assert fluxmem("view", "--top", 3, "--output", page, "--json").json["nodes"] == 3
    assert {"procedural", "episodic"} <= kinds(page)
    run = example.match({"practice": True})[0].id
    assert fluxmem("view", "--top", 2, "--episode", run, "--output", page, "--json").json["nodes"] == 2
    assert data(page)["nodes"][0]["id"] == run


def test_stored_markup_is_data(fluxmem: Fluxmem, namespace: str, tmp_path: Path) -> None:
    text = "</script><script>alert(1)</script><!-- <img src=x onerror=alert(1)>"
    fluxmem("add", text)
    page = tmp_path / "page.html"
    fluxmem("view", "--output", page)
    assert "alert(1)" in page.read_text(encoding="utf-8")
    assert "<script>alert" not in page.read_text(encoding="utf-8")
    assert "<img src=x" not in page.read_text(encoding="utf-8")
    assert data(page)["nodes"][0]["properties"]["text"] == text


def test_what_is_not_there_is_said(fluxmem: Fluxmem, tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    assert "fluxmem demo" in fluxmem("view", "--output", page).err
    assert fluxmem("view", "--episode", "no-such", "--output", page).code == 1
    assert fluxmem("view", "--skill", "no-such", "--output", page).code == 1
    assert fluxmem("view", "--skill", "a", "--episode", "b", "--output", page).code == 2


def test_the_library_is_asked_for_before_a_server_starts(
    offline: Fluxmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "neo4j_viz", None)
    missing = offline("view", "--output", tmp_path / "page.html")
    assert (missing.code, "fluxmem-graph[view]" in missing.error) == (2, True)
    assert not (tmp_path / "page.html").exists()


def test_the_page_opens_when_asked(fluxmem: Fluxmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("fluxmem_cli.view.open_page", opened.append)
    fluxmem("view", "--output", tmp_path / "page.html")
    assert opened == []
    fluxmem("view", "--output", tmp_path / "page.html", "--open")
    assert opened == [(tmp_path / "page.html").as_uri()]


def test_page_and_browser_show_the_layers_in_the_same_colours() -> None:
    style = (cypher_folder() / "browser" / "fluxmem.grass").read_text(encoding="utf-8")
    for kind, colour in COLOURS.items():
        assert re.search(rf"node\.{kind.capitalize()} {{[^}}]*\bcolor: {colour};", style), kind
