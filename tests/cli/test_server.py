"""Commands about the server: an own one, and the embedded one."""

import json
import re
from pathlib import Path

import pytest

from fluxmem_graph.settings import Settings
from fluxmem_graph.statements import cypher_folder
from tests.cli.conftest import Fluxmem


def test_status_of_an_own_server(fluxmem: Fluxmem, server_settings: Settings) -> None:
    found = fluxmem("status", "--json").json
    assert (found["state"], found["bolt_uri"]) == ("running", server_settings.neo4j_uri)
    assert found["version"][0].isdigit()
    assert "running" in fluxmem("status").out


def test_up_is_refused_while_commands_use_an_own_server(fluxmem: Fluxmem) -> None:
    done = fluxmem("up")
    assert done.code == 2
    assert "NEO4J_URI is set" in done.error


def test_migrate_names_the_versions_that_the_database_has(fluxmem: Fluxmem) -> None:
    fluxmem("migrate")
    state = fluxmem("migrate", "--json").json
    assert state["versions"] == list(range(1, len(state["versions"]) + 1))
    assert state["applied_now"] == []
    assert "up to date" in fluxmem("migrate").out


def test_the_password_is_printed_only_when_asked_for(fluxmem: Fluxmem, server_settings: Settings) -> None:
    assert server_settings.neo4j_password
    password = server_settings.neo4j_password.get_secret_value()
    shown = fluxmem("browser", "--no-open")
    assert "/browser/" in shown.out
    for part in ("fluxmem.grass", "cypher/browser", ":param namespace", "Paste in editor"):
        assert part in shown.out
    # All that an installed package holds: its handbook stays in the checkout.
    assert "docs/" not in shown.out
    for query in (cypher_folder() / "browser").glob("*.cypher"):
        assert re.search(rf"^\s*{query.name}\s+[A-Z].*\.$", shown.out, re.MULTILINE), query.name
    assert password not in shown.out + shown.err
    assert fluxmem("browser", "--show-password", "--json").json["password"] == password


def test_status_and_down_of_a_server_that_never_ran(offline: Fluxmem) -> None:
    assert offline("status", "--json").json["state"] == "stopped"
    assert offline("down", "--json").json == {"stopped": False}
    assert offline("down").err == "it was not running\n"


@pytest.mark.slow
def test_a_command_starts_the_embedded_server_and_says_so(
    offline: Fluxmem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FLUXMEM_SERVER_HEAP_MB", "512")
    monkeypatch.setenv("FLUXMEM_SERVER_PAGE_CACHE_MB", "64")
    try:
        added = offline("add", "Tea is hot.", "--json")
        assert added.json["content"] == "Tea is hot."
        assert "starting the embedded one" in added.err
        again = offline("up", "--json").json
        assert offline("status", "--json").json["pid"] == again["pid"]
        assert offline("search", "tea").err == ""
        login = offline("browser", "--no-open", "--show-password", "--json").json
        assert Path(login["password_file"]).read_text(encoding="utf-8").strip() == login["password"]
        assert login["address"] == again["browser_url"]
    finally:
        down = offline("down", "--json")
    assert json.loads(down.out) == {"stopped": True}
