"""Streams from the command line: what opens and closes, lists, and corrections."""

import io
import json
from pathlib import Path

import pytest

from tests.cli.conftest import Fluxmem

TALK = [
    {
        "id": "1",
        "text": "Green tea steeps for two minutes.",
        "speaker": "A-1",
        "time": "2026-03-01T12:00:00Z",
    },
    {"id": "2", "text": "Black tea steeps longer.", "speaker": "B-2", "time": "2026-03-01T12:05:00Z"},
    {"id": "3", "text": "The bicycle squeaks.", "speaker": "A-1", "time": "2026-03-01T15:00:00Z"},
]


def rows(talk: list[dict[str, str]] = TALK) -> bytes:
    return "".join(json.dumps(row) + "\n" for row in talk).encode()


def listed(fluxmem: Fluxmem, *options: object) -> list[dict[str, object]]:
    found: list[dict[str, object]] = fluxmem("episodes", "--json", *options).json["episodes"]
    return found


def test_each_line_of_standard_input_is_a_message(fluxmem: Fluxmem) -> None:
    done = fluxmem("observe", "--json", stdin="Tee ist heiß.\n\n  \nTee ist gut.\n".encode())
    assert (done.json["messages"], done.json["closed"], done.json["failures"]) == (2, [], [])
    [opened] = done.json["opened"]
    assert opened["why"] == "first"
    [episode] = listed(fluxmem)
    assert (episode["id"], episode["task"], episode["steps"], episode["ended_at"]) == (
        opened["episode"],
        "Tee ist heiß.",
        2,
        None,
    )


def test_json_lines_bring_speakers_times_and_ids_and_may_be_repeated(fluxmem: Fluxmem) -> None:
    first = fluxmem("observe", "-", "--jsonl", "--stream", "talk", stdin=rows())
    closed, opened = first.out.splitlines()[1:]
    assert first.out.startswith("opened ")
    assert closed.startswith("closed ")
    assert opened.endswith("(idle): The bicycle squeaks.")
    again = fluxmem("observe", "-", "--jsonl", "--stream", "talk", "--json", stdin=rows())
    assert (again.json["messages"], again.json["opened"], again.json["closed"]) == (3, [], [])
    later, earlier = listed(fluxmem)
    assert (later["steps"], earlier["steps"], earlier["source"]) == (1, 2, "talk")
    shown = fluxmem("episode", "show", earlier["id"], "--json").json
    assert [step["observation"] for step in shown["steps"]] == [
        "A-1: Green tea steeps for two minutes.",
        "B-2: Black tea steeps longer.",
    ]


def test_a_title_is_kept_and_a_session_becomes_metadata(fluxmem: Fluxmem) -> None:
    row = {"text": "It steeps for two minutes.", "title": "Green tea", "session": "s1"}
    fluxmem("observe", "--jsonl", "--stream", "talk", stdin=json.dumps(row).encode())
    [hit] = fluxmem("search", "green tea", "--json").json["hits"]
    shown = fluxmem("show", hit["id"], "--json").json
    assert (shown["name"], shown["metadata"]) == ("Green tea", {"session": "s1"})


def test_a_file_is_read_by_its_suffix_and_a_mark_opens_an_episode(fluxmem: Fluxmem, tmp_path: Path) -> None:
    text, talk = tmp_path / "talk.txt", tmp_path / "talk.jsonl"
    text.write_text("One.\nTwo.\n", encoding="utf-8")
    talk.write_bytes(rows(TALK[:2]))
    first = fluxmem("observe", text, "--stream", "s", "--json").json
    second = fluxmem("observe", talk, "--stream", "s", "--mark", "--json").json
    assert [opened["why"] for opened in second["opened"]] == ["mark"]
    assert second["closed"] == [first["opened"][0]["episode"]]


def test_lines_that_can_not_be_stored_are_named_and_the_others_are(fluxmem: Fluxmem) -> None:
    task = json.dumps({"task": "t", "steps": []}).encode()
    other = json.dumps({"id": "1", "text": "Another text."}).encode()
    lines = [rows(TALK[:1]).strip(), b"{broken", b'{"n": 1}', task, other, rows(TALK[1:2]).strip()]
    done = fluxmem("observe", "--jsonl", "--json", stdin=b"\n".join(lines))
    assert done.code == 1
    report = json.loads(done.out)
    assert (report["messages"], len(report["failures"])) == (2, 4)
    assert len([line for line in done.err.splitlines() if line.startswith("failed: ")]) == 4
    assert listed(fluxmem)[0]["steps"] == 2
    bad = fluxmem("observe", stdin=b"good\n\xff\n")
    assert bad.code == 1
    assert "<stdin>:2" in bad.err


def test_a_missing_file_is_told_before_a_server_is_asked(offline: Fluxmem, tmp_path: Path) -> None:
    done = offline("observe", tmp_path / "none.txt")
    assert done.code == 2
    assert "no such file" in done.error


def test_a_message_is_stored_before_the_next_one_comes(fluxmem: Fluxmem, namespace: str) -> None:
    counts: list[int] = []

    class Live(io.BytesIO):
        def __next__(self) -> bytes:
            from fluxmem_graph import FluxMem

            with FluxMem.connect(namespace=namespace) as memory:
                counts.append(sum(memory.stats()["memory"].values()))
            return super().__next__()

    assert fluxmem("observe", stdin=Live(b"one\ntwo\n")).code == 0
    assert counts == [0, 2, 3]


def test_episodes_are_listed_newest_first_and_as_many_as_asked(fluxmem: Fluxmem) -> None:
    for text in ("one", "two", "three"):
        fluxmem("observe", "--mark", stdin=text.encode())
    assert [episode["task"] for episode in listed(fluxmem, "--top", 2)] == ["three", "two"]
    shown = fluxmem("episodes").out
    assert "running" in shown
    assert shown.index("three") < shown.index("two") < shown.index("one")


def test_boundaries_are_corrected_by_split_and_merge(fluxmem: Fluxmem) -> None:
    fluxmem("observe", stdin=b"one\ntwo\nthree\n")
    [episode] = listed(fluxmem)
    refused = fluxmem("episode", "split", episode["id"], 1)
    assert refused.code == 1
    assert "running" in refused.error
    fluxmem("episode", "end", episode["id"])
    later = fluxmem("episode", "split", episode["id"], 1, "--reason", "two topics").out.strip()
    assert {e["id"]: e["steps"] for e in listed(fluxmem)} == {episode["id"]: 1, later: 2}
    merged = fluxmem("episode", "merge", episode["id"], later, "--json").json
    assert merged == {"episode": episode["id"], "merged": later}
    assert [(e["id"], e["steps"]) for e in listed(fluxmem)] == [(episode["id"], 3)]
    assert fluxmem("episode", "split", episode["id"], 3).code == 2


@pytest.mark.parametrize("command", [["split", "no-such-id", "1"], ["merge", "no-such-id", "other"]])
def test_an_unknown_episode_is_a_failure_that_names_it(fluxmem: Fluxmem, command: list[str]) -> None:
    done = fluxmem("episode", *command)
    assert done.code == 1
    assert "no-such-id" in done.error
