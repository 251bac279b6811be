"""From files to memories and episodes."""

import io
import json
from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.ingest import Item, ReadNotes, ReadOptions, parse_map, read_path
from fluxmem_graph.ingest.actions import render_action
from fluxmem_graph.ingest.options import FIELDS
from fluxmem_graph.ingest.rows import RowReader
from fluxmem_graph.ingest.text import count_words, sections
from fluxmem_graph.ingest.times import read_time
from fluxmem_graph.types import Failure, NewEpisode, NewMemory, NewStep

TURN = {
    "id": "D1:1",
    "session": "session_1",
    "time": "1:56 pm on 8 May, 2023",
    "speaker": "Ada",
    "text": "Look at this!",
    "image_caption": "a red kite",
}


def write_rows(file: Path, rows: Iterable[Any]) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return file


def memories(items: Iterable[Item]) -> list[NewMemory]:
    found = list(items)
    assert all(isinstance(item, NewMemory) for item in found), found
    return [item for item in found if isinstance(item, NewMemory)]


def test_a_turn(tmp_path: Path) -> None:
    notes = ReadNotes()
    file = write_rows(tmp_path / "chat" / "turns.jsonl", [TURN])
    assert list(read_path(file, notes=notes)) == [
        NewMemory(
            content="Look at this! [image: a red kite]",
            external_id="D1:1",
            source="chat/turns.jsonl",
            speaker="Ada",
            occurred_at=datetime(2023, 5, 8, 13, 56, tzinfo=UTC),
            metadata={"session": "session_1", "time": "1:56 pm on 8 May, 2023"},
            session="session_1",
        )
    ]
    assert notes.naive_times == 1
    assert notes.undated == []


def test_what_is_spoken_belongs_to_a_session(tmp_path: Path) -> None:
    rows = [
        {"session": "s1", "speaker": "Ada", "text": "One"},
        {"session": "s1", "speaker": "Bo", "text": "Two", "image_caption": "a cat"},
        {"session": "s1", "speaker": "Ada", "text": "Three"},
        {"session": 2, "speaker": "Ada", "text": "Four"},
        {"speaker": "Ada", "text": "Five"},
        {"text": "Six"},
    ]
    read = memories(read_path(write_rows(tmp_path / "t.jsonl", rows), ReadOptions(source="talk")))
    assert [turn.session for turn in read] == ["s1", "s1", "s1", "2", "talk", None]


def test_an_empty_field_is_as_good_as_none(tmp_path: Path) -> None:
    names = ("id", "session", "time", "speaker", "title", "image_caption")
    notes = ReadNotes()
    rows = [
        {**dict.fromkeys(names, ""), "text": "One"},
        {**dict.fromkeys(names), "text": None, "content": "Two"},
        {"text": "", "content": "Three"},
        {"task": "Find Ada", "id": "", "steps": []},
    ]
    one, two, three, run = read_path(
        write_rows(tmp_path / "talk.jsonl", rows), ReadOptions(source="talk"), notes
    )
    assert one == NewMemory("One", source="talk")
    assert two == NewMemory("Two", source="talk")
    assert three == NewMemory("Three", source="talk")
    assert notes.undated == []
    assert isinstance(run, NewEpisode) and run.external_id is None


def test_a_passage_has_a_title_and_no_session(tmp_path: Path) -> None:
    rows = [
        {"id": "p0", "title": "Kites", "text": "They fly."},
        {"id": 1, "title": "Owls", "text": "They hoot."},
    ]
    kites, owls = memories(read_path(write_rows(tmp_path / "c.jsonl", rows)))
    assert (kites.title, kites.content, kites.external_id, kites.metadata) == ("Kites", "They fly.", "p0", {})
    assert (owls.external_id, owls.session) == ("1", None)


def test_fields_are_mapped_dropped_or_kept_as_metadata(tmp_path: Path) -> None:
    rows = [{"body": "Hello", "author": "Ada", "task": "chat", "gold": 1, "info": {"a": [1]}, "none": None}]
    options = ReadOptions(
        source="mail", fields=parse_map("content=body, speaker=author"), drop=frozenset({"gold"})
    )
    [memory] = memories(read_path(write_rows(tmp_path / "m.jsonl", rows), options))
    assert (memory.content, memory.speaker, memory.source) == ("Hello", "Ada", "mail")
    assert memory.metadata == {"task": "chat", "info": {"a": [1]}, "none": None}


@pytest.mark.parametrize("text", ["content", "content=", "=x", "colour=x", "id=a,id=b"])
def test_a_map_that_means_nothing_is_refused(text: str) -> None:
    with pytest.raises(ConfigurationError):
        ReadOptions(fields=parse_map(text))


@pytest.mark.parametrize(
    "row",
    [
        "{broken",
        "[1]",
        "3",
        "null",
        '{"question": "who?"}',
        '{"text": 3}',
        '{"text": ""}',
        '{"text": "\\u0000"}',
        '{"text": "\\ud800"}',
        '{"text": "x", "speaker": ["Ada"]}',
        '{"text": "x", "id": true}',
        '{"text": "x", "extra": "\\ud800"}',
        '{"task": "t", "steps": {}}',
        '{"task": "t", "steps": [1]}',
        '{"task": "t", "steps": [], "success": 2}',
        '{"task": "t", "steps": [], "success": "yes"}',
        '{"task": "t", "steps": [{"observation": 3}]}',
        '{"text": "x", "n": ' + "9" * 5000 + "}",
        '{"text": "x", "n": ' + "[" * 100_000 + "]" * 100_000 + "}",
    ],
)
def test_a_row_that_cannot_be_read_is_a_failure_in_its_place(row: str, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "t.jsonl", [{"text": "before"}, row, {"text": "after"}])
    before, failure, after = read_path(file)
    assert isinstance(failure, Failure)
    assert failure.where == f"{file}:2"
    assert failure.reason
    assert isinstance(before, NewMemory)
    assert isinstance(after, NewMemory)


def test_bytes_that_are_not_utf8_fail_alone_and_blank_lines_are_nothing(tmp_path: Path) -> None:
    file = tmp_path / "t.jsonl"
    file.write_bytes(b'\xef\xbb\xbf{"text": "one"}\r\n\n  \n{"text": "\xff"}\n{"text": "two"}')
    one, failure, two = read_path(file)
    assert isinstance(one, NewMemory)
    assert isinstance(failure, Failure)
    assert failure.where.endswith(":4")
    assert isinstance(two, NewMemory)
    assert (one.content, two.content) == ("one", "two")


def test_an_id_used_again_for_another_text_is_a_failure_and_for_the_same_is_not(tmp_path: Path) -> None:
    rows = [{"id": "a", "text": "x"}, {"id": "a", "text": "x"}, {"id": "a", "text": "y"}]
    *same, failure = read_path(write_rows(tmp_path / "t.jsonl", rows))
    assert len(memories(same)) == 2
    assert isinstance(failure, Failure)


@pytest.mark.parametrize("time", ["some day", "yesterday", "May", "2023-02-31", ["x"], "x" * 10_000, True])
def test_a_time_that_cannot_be_read_stays_null_is_kept_and_listed(time: Any, tmp_path: Path) -> None:
    notes = ReadNotes()
    file = write_rows(tmp_path / "t.jsonl", [{"text": "x", "time": time}])
    [memory] = memories(read_path(file, notes=notes))
    assert memory.occurred_at is None
    assert memory.metadata["time"] == time
    assert [failure.where for failure in notes.undated] == [f"{file}:1"]


@pytest.mark.parametrize(
    ("printed", "moment", "naive"),
    [
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56, tzinfo=UTC), True),
        ("12:09 am on 13 September, 2023", datetime(2023, 9, 13, 0, 9, tzinfo=UTC), True),
        ("2023-05-08", datetime(2023, 5, 8, tzinfo=UTC), True),
        ("2023-05-08T10:00:00+02:00", datetime(2023, 5, 8, 8, tzinfo=UTC), False),
        ("2023-05-08T10:00:00Z", datetime(2023, 5, 8, 10, tzinfo=UTC), False),
    ],
)
def test_printed_times(printed: str, moment: datetime, naive: bool) -> None:
    time = read_time(printed)
    assert time is not None
    assert (time.at, time.naive) == (moment, naive)


@given(st.text(max_size=40) | st.datetimes().map(str))
def test_any_text_is_a_zoned_time_or_none(printed: str) -> None:
    time = read_time(printed)
    assert time is None or time.at.utcoffset() == UTC.utcoffset(None)


def test_a_trajectory_brings_no_labels(tmp_path: Path) -> None:
    action = {"tool": "find", "arguments": {"name": "Ada", "n": 2, "near": ["x"]}}
    row = {
        "id": "run-1",
        "task": "Find Ada",
        "success": True,
        "reward": 0.77,
        "task_group": "secret-group",
        "gold_tools": ["secret-tool"],
        "steps": [
            {"observation": "Hi", "action": {"say": "Hello"}, "gold": "secret"},
            {"observation": "", "action": action, "feedback": "wrong"},
            {"observation": "end"},
        ],
    }
    [episode] = read_path(write_rows(tmp_path / "runs" / "a.jsonl", [row]))
    assert episode == NewEpisode(
        task="Find Ada",
        steps=(
            NewStep("Hi", "Hello"),
            NewStep("", 'find(name="Ada", n=2, near=["x"])', "wrong"),
            NewStep("end"),
        ),
        external_id="run-1",
        source="runs/a.jsonl",
        success=1.0,
        metadata={"actions": [None, action, None]},
    )
    assert "secret" not in repr(episode)
    assert "0.77" not in repr(episode)


@pytest.mark.parametrize(("success", "expected"), [(False, 0.0), (None, None), (0.5, 0.5), (1, 1.0)])
def test_success_is_a_share(success: Any, expected: float | None, tmp_path: Path) -> None:
    rows = [{"task": "t", "steps": [], "success": success}]
    [episode] = read_path(write_rows(tmp_path / "a.jsonl", rows))
    assert isinstance(episode, NewEpisode)
    assert episode.success == expected


def test_actions_of_unknown_shape_are_shown_as_json() -> None:
    assert render_action({"press": "ä"}) == '{"press": "ä"}'
    assert render_action("go north") == "go north"
    assert render_action(["a"]) == '["a"]'
    assert render_action({"tool": "stop"}) == "stop()"


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.sampled_from(sorted(FIELDS)) | st.text(), inner),
    max_leaves=10,
)


@given(
    st.lists(st.dictionaries(st.sampled_from([*FIELDS, "text", "x"]), json_values) | json_values, max_size=4)
)
def test_every_row_becomes_one_item(rows: list[Any]) -> None:
    from fluxmem_graph.ingest.paths import _rows

    lines = [json.dumps(row).encode() for row in rows]
    items = list(_rows(lines, "rows", RowReader("rows", ReadOptions(), ReadNotes())))
    assert len(items) == len(rows)


def test_text_is_chunked_without_losing_words(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    text = "\n\n".join(f"Paragraph {n} " + "word " * 30 for n in range(20))
    file.write_text(text)
    chunks = memories(read_path(file, ReadOptions(chunk_words=50)))
    assert [chunk.metadata["chunk"] for chunk in chunks] == list(range(len(chunks)))
    assert " ".join(chunk.content for chunk in chunks).split() == text.split()
    assert all(count_words(chunk.content) <= 50 for chunk in chunks)
    assert all(chunk.external_id is None and chunk.title is None for chunk in chunks)


@pytest.mark.parametrize("text", ["我喜欢健身和普洱茶。" * 100, "x" * 20_000])
def test_text_without_spaces_is_chunked_too(text: str, tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text(text)
    chunks = memories(read_path(file))
    assert len(chunks) > 1
    assert "".join(chunk.content for chunk in chunks) == text


def test_markdown_headings_are_titles(tmp_path: Path) -> None:
    file = tmp_path / "guide.md"
    file.write_text(
        "---\ntitle: x\n---\nIntro\n\n# Kites\nFly.\n\n```\n# no heading\n```\n\n## Care\r\nDry.\n\n# Empty\n"
    )
    chunks = memories(read_path(file))
    assert [(chunk.title, chunk.metadata.get("section")) for chunk in chunks] == [
        (None, None),
        ("Kites", None),
        ("Care", "Kites > Care"),
        ("Empty", None),
    ]
    assert "title: x" in chunks[0].content
    assert "# no heading" in chunks[1].content
    assert chunks[3].content == "Empty"


@given(
    st.lists(st.sampled_from(["# A", "## B", "text", "", "---", "```", "> # q", "- # l", "\x0c", "\u2028"]))
)
def test_no_line_of_markdown_under_a_heading_is_lost(lines: list[str]) -> None:
    text = "\n".join(lines)
    whole = " ".join(name for section in sections(text) for name in (*section.path, section.body))
    for line in lines:
        if line in ("text", "> # q", "- # l"):
            assert line in whole


def test_a_folder_is_read_in_order_and_unreadable_files_are_listed(tmp_path: Path) -> None:
    write_rows(tmp_path / "b" / "t.jsonl", [{"text": "second"}])
    write_rows(tmp_path / "a" / "t.jsonl", [{"text": "first"}])
    (tmp_path / "c.bin").write_bytes(b"\x00")
    (tmp_path / "d.txt").write_bytes(b"\xff\xfe")
    (tmp_path / "e.txt").write_text(" ")
    (tmp_path / ".hidden").mkdir()
    (tmp_path / ".hidden" / "x.txt").write_text("no")
    first, second, *failures = read_path(tmp_path)
    assert isinstance(first, NewMemory)
    assert isinstance(second, NewMemory)
    assert (first.content, first.source) == ("first", "a/t.jsonl")
    assert (second.content, second.source) == ("second", "b/t.jsonl")
    assert [Path(item.where).name for item in failures if isinstance(item, Failure)] == [
        "c.bin",
        "d.txt",
        "e.txt",
    ]


def test_a_missing_path_is_refused_at_once(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no such"):
        read_path(tmp_path / "none.jsonl")


def test_standard_input_is_json_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    class Piped:
        buffer = io.BytesIO(b'{"text": "piped"}\nno\n')

    monkeypatch.setattr("sys.stdin", Piped())
    memory, failure = read_path("-")
    assert isinstance(memory, NewMemory)
    assert (memory.content, memory.source) == ("piped", "stdin")
    assert isinstance(failure, Failure)
    assert failure.where == "<stdin>:2"
