"""The doctor on the command line: exit codes, the document, and a server that is down."""

import pytest

from fluxmem_graph import FluxMem, Settings
from tests.cli.conftest import Fluxmem


def test_a_healthy_memory_ends_with_0(fluxmem: Fluxmem) -> None:
    fluxmem("add", "Tea is hot.")
    found = fluxmem("doctor", "--json").json
    assert found["ok"] is True
    assert {tuple(check) for check in found["checks"]} == {("name", "ok", "detail", "fix")}
    assert all(check["ok"] for check in found["checks"])
    assert "FINDING" not in fluxmem("doctor").out


def test_a_finding_ends_with_1_until_it_is_repaired(
    fluxmem: Fluxmem, namespace: str, server_settings: Settings
) -> None:
    fluxmem("add", "Tea is hot.")
    with FluxMem.connect(server_settings) as memory:
        memory.database.call("MATCH (m:Memory {namespace: $ns}) SET m.embedding = null", ns=namespace)
    done = fluxmem("doctor")
    assert done.code == 1
    assert "FINDING" in done.out
    repaired = fluxmem("doctor", "--fix")
    assert (repaired.code, repaired.err) == (0, "repaired: vectors\n")
    assert fluxmem("doctor").code == 0


def test_another_namespace_is_not_looked_at(
    fluxmem: Fluxmem, namespace: str, server_settings: Settings
) -> None:
    fluxmem("add", "Tea is hot.")
    with FluxMem.connect(server_settings) as memory:
        memory.database.call("MATCH (m:Memory {namespace: $ns}) SET m.embedding = null", ns=namespace)
    assert fluxmem("doctor", "--namespace", "cli-other").code == 0


def test_an_embedded_server_that_is_down_stays_down_without_fix(offline: Fluxmem) -> None:
    done = offline("doctor", "--json")
    assert done.code == 1
    assert '"the embedded server is not running"' in done.out
    assert offline("status", "--json").json["state"] == "stopped"


def test_a_server_that_does_not_answer_is_a_finding(
    offline: Fluxmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_URI", "bolt://127.0.0.1:1")
    monkeypatch.setenv("NEO4J_PASSWORD", "not printed")
    done = offline("doctor")
    assert done.code == 1
    assert "bolt://127.0.0.1:1" in done.out
    assert "not printed" not in done.out + done.err
