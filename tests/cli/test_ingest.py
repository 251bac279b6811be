"""Loading files: what is reported, and when it fails."""

import json
from pathlib import Path
from typing import Any

from tests.cli.conftest import Fluxmem


def write_rows(file: Path, rows: list[Any]) -> Path:
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return file


def test_a_second_ingest_changes_nothing(fluxmem: Fluxmem, tmp_path: Path) -> None:
    file = write_rows(tmp_path / "tea.jsonl", [{"id": n, "text": f"Tea number {n}."} for n in range(5)])
    first = fluxmem("ingest", file, "--json").json
    second = fluxmem("ingest", file, "--json").json
    assert (first["created"], first["unchanged"], first["failures"]) == (5, 0, [])
    assert (second["created"], second["unchanged"], second["failures"]) == (0, 5, [])
    assert first["rate"] > 0
    assert fluxmem("ingest", file).out.split()[:4] == ["created", "0", "unchanged", "5"]


def test_failed_items_are_listed_and_end_with_1_but_the_others_are_stored(
    fluxmem: Fluxmem, tmp_path: Path
) -> None:
    broken = [{"id": f"b{n}"} for n in range(25)]
    file = write_rows(tmp_path / "tea.jsonl", [{"id": "good", "text": "Tea."}, *broken])
    done = fluxmem("ingest", file, "--json")
    assert done.code == 1
    report = json.loads(done.out)
    assert report["created"] == 1
    assert [failure["where"] for failure in report["failures"]] == [f"{file}:{n}" for n in range(2, 27)]
    listed = [line for line in done.err.splitlines() if line.startswith("failed: ")]
    assert len(listed) == 21
    assert listed[-1] == "failed: 5 more; --json lists all"


def test_a_file_that_can_not_be_read_fails_alone(fluxmem: Fluxmem, tmp_path: Path) -> None:
    good = write_rows(tmp_path / "tea.jsonl", [{"text": "Tea."}])
    # It opens, for the superuser too, and fails when it is read.
    bad = tmp_path / "bad.jsonl"
    bad.symlink_to("/proc/self/mem")
    done = fluxmem("ingest", bad, good, "--json")
    assert done.code == 1
    report = json.loads(done.out)
    assert (report["created"], [failure["where"] for failure in report["failures"]]) == (1, [str(bad)])


def test_times_that_can_not_be_read_are_listed_without_failing(fluxmem: Fluxmem, tmp_path: Path) -> None:
    rows = [
        {"id": "1", "text": "One.", "time": "1:56 pm on 8 May, 2023"},
        {"id": "2", "text": "Two.", "time": "some day"},
    ]
    done = fluxmem("ingest", write_rows(tmp_path / "tea.jsonl", rows), "--json")
    assert [item["where"].rpartition(":")[2] for item in done.json["undated"]] == ["2"]
    assert done.json["naive_times"] == 1
    assert "undated: " in done.err
    assert "1 times had no zone" in done.err


def test_options_name_the_source_map_fields_and_drop_others(fluxmem: Fluxmem, tmp_path: Path) -> None:
    file = write_rows(
        tmp_path / "tea.jsonl", [{"id": "1", "body": "Tea.", "by": "K-1", "secret": "x", "n": 7}]
    )
    options = ("--map", "content=body,speaker=by", "--drop", "secret", "--source", "talk")
    assert fluxmem("ingest", file, *options, "--json").json["created"] == 1
    (hit,) = fluxmem("search", "tea", "--json").json["hits"]
    assert (hit["content"], hit["speaker"], hit["source"], hit["metadata"]) == (
        "Tea.",
        "K-1",
        "talk",
        {"n": 7},
    )


def test_a_dash_reads_rows_from_standard_input(fluxmem: Fluxmem) -> None:
    assert fluxmem("ingest", "-", "--json", stdin=b'{"text": "Tea."}\n').json["created"] == 1


def test_folders_of_texts_are_chunked(fluxmem: Fluxmem, tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "tea.md").write_text("# Tea\n\n" + "Green tea is mild. " * 30, encoding="utf-8")
    few = fluxmem("ingest", tmp_path / "notes", "--chunk-words", 60, "--json").json["created"]
    assert few == 2
