"""The commands of those who look after a memory: log, undo, at, export, import, replay, namespaces, erase."""

import json
from datetime import UTC, datetime
from pathlib import Path

import pytest

from fluxmem_graph import FluxMem
from tests.cli.conftest import Fluxmem


def ids(fluxmem: Fluxmem, *options: str) -> list[str]:
    return [operation["id"] for operation in fluxmem("log", "--json", *options).json["operations"]]


def test_the_log_is_filtered(fluxmem: Fluxmem) -> None:
    fact = fluxmem("add", "Tea is hot.").out.strip()
    fluxmem("forget", fact)
    assert len(ids(fluxmem)) == 2
    assert len(ids(fluxmem, "--kind", "delete")) == 1
    assert len(ids(fluxmem, "--kind", "delete", "--kind", "create")) == 2
    assert ids(fluxmem, "--actor", "somebody") == []
    assert ids(fluxmem, "--until", "2020-01-01") == []
    assert len(ids(fluxmem, "--since", "2020-01-01")) == 2
    assert "2020" in fluxmem("log", "--since", "2020-99-01").error


def test_an_empty_list_says_so_and_an_unknown_memory_is_a_failure(fluxmem: Fluxmem) -> None:
    fact = fluxmem("add", "Tea is hot.").out.strip()
    for empty in (["--run", "no-such"], ["--kind", "no-such"], [fact, "--kind", "delete"]):
        done = fluxmem("log", *empty)
        assert (done.code, done.out, "no operation matches" in done.err) == (0, "", True)
    unknown = fluxmem("log", "no-such-id")
    assert (unknown.code, "no-such-id" in unknown.error) == (1, True)
    assert fluxmem("log", "no-such-id", "--json").code == 1
    assert "nothing is quarantined" in fluxmem("quarantine", "list").err
    assert "fluxmem observe" in fluxmem("episodes").err
    assert fluxmem("episodes", "--json").json == {"episodes": []}


def test_a_run_and_a_range_are_undone(fluxmem: Fluxmem, tmp_path: Path) -> None:
    file = tmp_path / "chat.jsonl"
    file.write_text('{"text": "one"}\n{"text": "two"}\n')
    run = fluxmem("ingest", file, "--json").json["run_id"]
    assert len(ids(fluxmem, "--run", run)) == 2
    assert len(fluxmem("undo", "--run", run, "--json").json["operations"]) == 2
    fluxmem("add", "three")
    assert "1 operations undone" in fluxmem("undo", "--from", "5", "--to", "5").out
    for wrong in ([], ["--from", "1"], ["x", "--run", run], ["--run", run, "--from", "1", "--to", "2"]):
        failed = fluxmem("undo", *wrong)
        assert failed.code == 2 and "--run RUN" in failed.error
    assert "no operations" in fluxmem("undo", "--run", "nothing").error


def test_memory_is_read_as_of_a_time(fluxmem: Fluxmem) -> None:
    fact = fluxmem("add", "Ada lives in Turin.").out.strip()
    then = datetime.now(UTC).isoformat()
    fluxmem("edit", fact, "Ada lives in Rome.")
    found = fluxmem("at", then, "search", "Where does Ada live?", "--json").json
    assert [hit["content"] for hit in found["facts"]] == ["Ada lives in Turin."]
    assert fluxmem("at", then, "show", fact, "--json").json["version"] == 1
    assert "Turin" in fluxmem("at", then, "search", "Ada").out
    assert "Turin" in fluxmem("at", then, "show", fact).out
    assert fluxmem("at", "long ago", "search", "Ada").code == 2
    assert fact in fluxmem("at", "2020-01-01 00:00 UTC", "show", fact).error


def test_a_namespace_is_exported_imported_and_replayed(
    fluxmem: Fluxmem, namespace: str, tmp_path: Path
) -> None:
    fluxmem("add", "Tea is hot.", "--source", "notes.md")
    first, second = tmp_path / "one.jsonl", tmp_path / "two.jsonl"
    assert fluxmem("export", "--namespace", namespace, first, "--json").json["lines"] > 3
    copy, played = f"{namespace}-copy", f"{namespace}-played"
    try:
        assert fluxmem("import", "--namespace", copy, first, "--json").json["known"] == 0
        fluxmem("export", "-n", copy, second)
        assert first.read_bytes() == second.read_bytes()
        assert "--merge" in fluxmem("import", "-n", copy, first).error
        assert fluxmem("import", "-n", copy, first, "--merge").code == 0
        assert fluxmem("replay", played, "--json").json["equal"] is True
        assert "are equal" in fluxmem("replay", f"{played}-2").out
        first.write_bytes(first.read_bytes()[:-20])
        assert "nothing was imported" in fluxmem("import", "-n", f"{copy}-2", first).error
        assert "namespace list" in fluxmem("export", "-n", "no-such-namespace", first).error
    finally:
        for name in (copy, played, f"{played}-2"):
            fluxmem("namespace", "erase", name, "--yes")


def test_facts_of_another_system_are_imported(fluxmem: Fluxmem, tmp_path: Path) -> None:
    file = tmp_path / "mem0.json"
    file.write_text(json.dumps({"results": [{"id": "1", "memory": "Ada likes tea."}, {"id": "2"}]}))
    done = fluxmem("import", file, "--from", "mem0", "--json")
    assert done.code == 1 and json.loads(done.out)["created"] == 1
    assert "Ada likes tea." in fluxmem("search", "tea").out
    assert fluxmem("import", file, "--from", "letta").code == 2
    refused = fluxmem("import", file, "--from", "mem0", "--merge")
    assert refused.code == 2 and "--merge" in refused.error


def test_namespaces_are_made_listed_limited_and_erased(fluxmem: Fluxmem, namespace: str) -> None:
    assert fluxmem("namespace", "create", namespace, "--json").json["created"] is True
    fluxmem("add", "one")
    assert fluxmem("namespace", "quota", namespace, "1", "--json").json == {
        "namespace": namespace,
        "memories": 1,
        "quota": 1,
    }
    assert "quota" in fluxmem("add", "two").error
    assert "quota none" in fluxmem("namespace", "quota", namespace, "--none").out
    listed = fluxmem("namespace", "list", "--json").json["namespaces"]
    assert [row["memories"] for row in listed if row["name"] == namespace] == [1]
    assert namespace in fluxmem("namespace", "list").out
    assert fluxmem("namespace", "stats", "--json").json["memory"] == {"semantic active": 1}
    failed = fluxmem("namespace", "erase", namespace)
    assert failed.code == 2 and "--yes" in failed.error
    assert fluxmem("namespace", "erase", namespace, "--yes", "--json").json["left"] == 0
    assert "namespace list" in fluxmem("namespace", "quota", namespace).error
    again = fluxmem("namespace", "erase", namespace, "--yes")
    assert (again.code, f"no namespace {namespace}" in again.err) == (0, True)


def test_an_erasure_that_leaves_something_is_a_failure(
    fluxmem: Fluxmem, monkeypatch: pytest.MonkeyPatch, namespace: str
) -> None:
    fluxmem("add", "one")
    # Another process writes meanwhile.
    erase = FluxMem.erase_namespace
    with monkeypatch.context() as patched:
        patched.setattr(FluxMem, "erase_namespace", lambda memory: (erase(memory), memory.add("two"))[0])
        left = fluxmem("namespace", "erase", namespace, "--yes")
    assert (left.code, left.err) == (1, "")
    assert "0 are left" not in left.out


def test_memories_sources_and_subjects_are_erased_with_a_report(fluxmem: Fluxmem) -> None:
    fact = fluxmem("add", "Tea is hot in the morning.", "--source", "notes.md").out.strip()
    fluxmem("add", "Zerubbabel Quux likes coffee very much.", "--source", "notes.md")
    assert "--yes" in fluxmem("erase", "memory", fact).error
    report = fluxmem("erase", "memory", fact, "--yes", "--json").json
    assert (report["memories"], report["left"], report["markers"]) == (1, [], ["Tea is hot in the morning."])
    assert "found nowhere" in fluxmem("erase", "subject", "Zerubbabel Quux", "--yes").out
    assert "notes.md" in fluxmem("erase", "source", "notes.md", "--yes").error
    log = fluxmem("log")
    assert "create (erased)" in log.out and "coffee" not in log.out


def test_the_log_of_a_replayed_namespace_shows_its_tombstones(fluxmem: Fluxmem, namespace: str) -> None:
    fluxmem("add", "Tea is hot in the morning.", "--source", "notes.md")
    fluxmem("erase", "memory", fluxmem("add", "Zerubbabel Quux likes coffee.").out.strip(), "--yes")
    played = f"{namespace}-played"
    try:
        assert "are equal" in fluxmem("replay", played).out
        log = fluxmem("log", "-n", played)
        assert (log.code, log.err) == (0, "")
        assert "create (erased)" in log.out and "erase (erased)" in log.out
        assert [o["reason"] for o in fluxmem("log", "-n", played, "--json").json["operations"]] == [""] * 3
    finally:
        fluxmem("namespace", "erase", played, "--yes")


@pytest.mark.parametrize("what", ["memory", "source", "subject"])
def test_what_is_not_there_can_not_be_erased(fluxmem: Fluxmem, what: str) -> None:
    failed = fluxmem("erase", what, "nothing", "--yes")
    assert failed.code == 1 and "nothing" in failed.error
