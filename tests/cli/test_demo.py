"""The demo: an example that agrees with its own file, and queries that show it."""

import csv
import json
from collections import Counter

import pytest

from fluxmem_cli.demo import example_folder, queries_to_paste
from fluxmem_graph.client import FluxMem
from fluxmem_graph.settings import Settings
from tests.cli.conftest import Fluxmem


def test_a_second_demo_finds_everything_there(fluxmem: Fluxmem, namespace: str) -> None:
    first = fluxmem("demo", "--namespace", namespace, "--json").json
    second = fluxmem("demo", "--namespace", namespace, "--json").json
    assert first["ingest"]["failures"] == []
    assert first["ingest"]["created"] == second["ingest"]["unchanged"] > 10
    assert second["ingest"]["created"] == 0


def test_the_demo_shows_an_explained_activation_the_context_and_the_way_to_browser(
    fluxmem: Fluxmem, namespace: str
) -> None:
    shown = fluxmem("demo", "--namespace", namespace)
    assert shown.code == 0
    for part in (
        "brought by",
        "dense",
        "<fact id=",
        "<episode id=",
        "<skill id=",
        "Made of 4 runs",
        "/browser/",
        "--show-password",
    ):
        assert part in shown.out
    assert shown.out.count("CYPHER 25") == 8


def test_the_demo_needs_no_episode_brought_back(
    fluxmem: Fluxmem, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUXMEM_RETRIEVAL__EPISODES", "0")
    assert fluxmem("demo", "--namespace", namespace, "--json").json["activation"]["episodes"] == []


def test_the_distractor_stays_out_of_the_way(fluxmem: Fluxmem, namespace: str) -> None:
    found = fluxmem("demo", "--namespace", namespace, "--json").json["activation"]
    assert {hit["metadata"]["topic"] for hit in found["facts"]} == {"medals"}
    practice = None
    assert {hit["external_id"] for hit in found["episodes"]} <= {"run-1", "run-2", "run-3", practice}


def test_each_query_to_paste_returns_rows_of_the_graph(
    fluxmem: Fluxmem, namespace: str, server_settings: Settings
) -> None:
    queries = fluxmem("demo", "--namespace", namespace, "--json").json["queries"]
    assert len(queries) == 8
    with FluxMem.connect(server_settings) as memory:
        for query in queries:
            assert memory.database.call(query), query


@pytest.mark.parametrize("name", ["it's", "back\\slash'", "'}) DETACH DELETE n //"])
def test_a_namespace_is_written_into_queries_as_text(name: str, server_settings: Settings) -> None:
    with FluxMem.connect(server_settings) as memory:
        assert all(memory.database.call(query) == [] for query in queries_to_paste(name))


def test_the_runs_answer_as_the_file_says() -> None:
    folder = example_folder()
    with (folder / "medals.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    medals: Counter[str] = Counter()
    for row in rows:
        won = [row[column] for column in ("gold", "silver", "bronze")]
        medals[row["athlete"].upper()] += sum(int(count) for count in won if count != "n/a")
    total = medals.pop("TOTAL")
    assert total == medals.total()
    lines = (folder / "memory" / "runs.jsonl").read_text(encoding="utf-8").splitlines()
    answers = {run["id"]: run["steps"][-1]["action"]["say"] for run in map(json.loads, lines)}
    most_rows = Counter(row["athlete"] for row in rows).most_common(1)[0][0]
    best, count = medals.most_common(1)[0]
    assert answers["run-1"].startswith(most_rows)
    assert most_rows != best
    assert answers["run-3"] == f"{best} has the most medals: {count}."
