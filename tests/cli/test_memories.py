"""Single memories: add, show, edit, forget, the log of it, and undo."""

import pytest

from tests.cli.conftest import Fluxmem


def test_an_added_memory_is_shown_with_all_that_was_said_about_it(fluxmem: Fluxmem) -> None:
    added = fluxmem(
        *("add", "The kettle boils at 96 degrees.", "--title", "Kettle", "--speaker", "K-1"),
        *("--source", "notes", "--external-id", "n1", "--time", "8 May 2023, 1:56 pm"),
        *("--meta", "topic=tea", "--meta", "cups=3", "--meta", "hot=true", "--meta", 'code="3"', "--json"),
    )
    shown = fluxmem("show", added.json["id"], "--json").json
    assert shown == added.json
    assert shown["metadata"] == {"topic": "tea", "cups": 3, "hot": True, "code": "3"}
    assert shown["occurred_at"] == "2023-05-08T13:56:00+00:00"
    said = ("name", "content", "speaker", "source", "external_id")
    assert [shown[name] for name in said] == [
        "Kettle",
        "The kettle boils at 96 degrees.",
        "K-1",
        "notes",
        "n1",
    ]
    assert "taken as UTC" in added.err


def test_the_same_text_again_is_the_same_memory(fluxmem: Fluxmem) -> None:
    first, second = fluxmem("add", "Tea is hot."), fluxmem("add", "Tea is hot.")
    assert first.out == second.out
    assert len(first.out.split()) == 1


def test_another_text_under_a_stored_id_is_a_failure(fluxmem: Fluxmem) -> None:
    memory_id = fluxmem("add", "Port is 8080", "--external-id", "p").out.strip()
    done = fluxmem("add", "Port is 9090", "--external-id", "p", "--verified")
    assert (done.code, done.out) == (1, "")
    assert f"fluxmem edit {memory_id}" in done.error
    assert fluxmem("show", memory_id, "--json").json["content"] == "Port is 8080"


def test_text_comes_from_standard_input_for_a_dash(fluxmem: Fluxmem) -> None:
    added = fluxmem("add", "-", "--json", stdin="Grüner Tee\nzieht kurz.\n".encode())
    assert added.json["content"] == "Grüner Tee\nzieht kurz."


def test_standard_input_that_is_not_utf_8_is_refused(fluxmem: Fluxmem) -> None:
    done = fluxmem("add", "-", stdin=b"\xff\xfe")
    assert done.code == 2
    assert "not UTF-8" in done.error


@pytest.mark.parametrize("text", ["", "   ", "a\x00b"])
def test_a_text_that_can_not_be_stored_is_refused(fluxmem: Fluxmem, text: str) -> None:
    assert fluxmem("add", text).code == 2
    assert fluxmem("stats", "--json").json["memory"] == {}


def test_an_edit_makes_a_new_version_and_keeps_metadata_unless_given(fluxmem: Fluxmem) -> None:
    memory_id = fluxmem("add", "Tea is hot.", "--meta", "topic=tea", "--json").json["id"]
    edited = fluxmem("edit", memory_id, "Tea is cold.", "--reason", "it waited", "--json").json
    assert (edited["content"], edited["version"], edited["metadata"]) == ("Tea is cold.", 2, {"topic": "tea"})
    assert fluxmem("edit", memory_id, "Tea is gone.", "--meta", "cups=0", "--json").json["metadata"] == {
        "cups": 0
    }


def test_what_is_forgotten_is_not_found_until_it_is_undone(fluxmem: Fluxmem) -> None:
    memory_id = fluxmem("add", "Tea is hot.").out.strip()
    assert fluxmem("forget", memory_id, "--reason", "wrong", "--json").json["id"] == memory_id
    assert fluxmem("search", "tea", "--json").json["hits"] == []
    operation = fluxmem("log", memory_id, "--json").json["operations"][0]
    assert (operation["kind"], operation["reason"], operation["actor"]) == ("delete", "wrong", "cli")
    assert fluxmem("undo", operation["id"], "--json").json["memory"] == memory_id
    assert [hit["id"] for hit in fluxmem("search", "tea", "--json").json["hits"]] == [memory_id]


def test_the_log_is_newest_first_and_as_long_as_asked(fluxmem: Fluxmem) -> None:
    for text in ("one", "two", "three"):
        fluxmem("add", text)
    seqs = [operation["seq"] for operation in fluxmem("log", "--top", 2, "--json").json["operations"]]
    assert seqs == [3, 2]
    assert "create" in fluxmem("log").out


@pytest.mark.parametrize("command", [["show"], ["forget"], ["edit", "text"], ["undo"]])
def test_an_unknown_id_is_a_failure_that_names_it(fluxmem: Fluxmem, command: list[str]) -> None:
    name, *rest = command
    done = fluxmem(name, "no-such-id", *rest)
    assert done.code == 1
    assert "no-such-id" in done.error


def test_stats_count_what_the_namespace_holds(fluxmem: Fluxmem, namespace: str) -> None:
    fluxmem("add", "Tea is hot.", "--source", "notes")
    counted = fluxmem("stats", "--json").json
    assert counted["namespace"] == namespace
    assert counted["memory"] == {"semantic active": 1}
    assert counted["node"]["source"] == 1
    assert "semantic active" in fluxmem("stats").out


def test_another_namespace_sees_nothing(fluxmem: Fluxmem) -> None:
    memory_id = fluxmem("add", "Tea is hot.").out.strip()
    assert fluxmem("show", memory_id, "--namespace", "cli-empty").code == 1
    assert fluxmem("search", "tea", "-n", "cli-empty", "--json").json["hits"] == []


def test_stored_escape_sequences_do_not_reach_the_terminal(fluxmem: Fluxmem) -> None:
    added = fluxmem("add", "red \x1b[31m tea", "--json").json
    shown = fluxmem("show", added["id"]).out + fluxmem("search", "tea").out + fluxmem("context", "tea").out
    assert "\x1b" not in shown
    assert shown.count("\\x1b[31m") >= 3
    assert added["content"] == "red \x1b[31m tea"
