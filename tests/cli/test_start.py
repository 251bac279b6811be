"""Starting, and the contract of every command: exit codes, and one line per failure."""

import io
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Fluxmem

UNREACHABLE = "bolt://127.0.0.1:1"


@pytest.mark.parametrize("argument", ["--version", "--help", "search --help"])
def test_version_and_help_load_nothing_heavy(argument: str) -> None:
    program = (
        "import sys\n"
        "from fluxmem_cli.main import main\n"
        f"assert main({argument.split()!r}) == 0\n"
        "heavy = {'torch', 'sentence_transformers', 'neo4j', 'jgo', 'dateparser', 'numpy', 'fluxmem_graph'}\n"
        "sys.exit(', '.join(heavy & sys.modules.keys()) or 0)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "fluxmem" in done.stdout


def test_version_is_one_line_with_a_number(offline: Fluxmem) -> None:
    done = offline("--version")
    assert done.out.split()[0] == "fluxmem"
    assert done.out.split()[1][0].isdigit()
    assert len(done.out.splitlines()) == 1


def test_without_a_command_the_help_is_printed(offline: Fluxmem) -> None:
    assert "Commands:" in offline().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["nonsense"],
        ["search"],
        ["search", "--nonsense", "x"],
        ["search", "x", "--top-k", "0"],
        ["search", "x", "--top-k", "many"],
        ["eval"],
        ["search", "x", "--where", "topic"],
        ["search", "x", "--where", "topic=a", "--where", "topic=b"],
        ["search", "x", "--namespace", ""],
        ["add", "x", "--time", "tomorrow"],
        ["add", "x", "--meta", "=3"],
        ["ingest", "no-such-file.jsonl"],
        ["ingest", ".", "--map", "colour=red"],
        ["eval", "retrieval", "no-such-folder", "--systems", "bm25"],
        ["eval", "retrieval", ".", "--systems", "fluxmem,magic"],
        ["eval", "retrieval", ".", "--top-k", "five"],
        ["eval", "retrieval", ".", "--json", "no-such-folder/figures.json"],
        ["import", "no-such-file.jsonl"],
        ["import", "."],
        ["export", "no-such-folder/out.jsonl"],
        ["export", "."],
        ["backup", "."],
        ["view", "--output", "no-such-folder/page.html"],
        ["view", "--output", "."],
        ["consolidate", "--plot", "no-such-folder/plot.png"],
        ["consolidate", "--plot", "."],
    ],
)
def test_wrong_usage_is_told_in_one_line_before_a_server_starts(
    offline: Fluxmem, arguments: list[str]
) -> None:
    done = offline(*arguments)
    assert done.code == 2
    assert done.error
    assert ".part" not in done.error


def test_a_wrong_setting_is_named(offline: Fluxmem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUXMEM_POOL_SIZE", "none")
    done = offline("status")
    assert done.code == 2
    assert "pool_size" in done.error


def test_a_server_that_does_not_answer_is_a_failure(
    offline: Fluxmem, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NEO4J_URI", UNREACHABLE)
    monkeypatch.setenv("NEO4J_PASSWORD", "not printed")
    done = offline("stats")
    assert done.code == 1
    assert UNREACHABLE in done.error
    assert "not printed" not in done.error


@pytest.mark.parametrize("uri", ["bolt://neo4j:secret@127.0.0.1:1", "bolt://neo4j:sec/secret@127.0.0.1:1"])
@pytest.mark.parametrize(
    "command", [["stats"], ["status"], ["doctor"], ["up"], ["browser", "--no-open"]], ids=str
)
def test_a_password_in_the_address_is_never_printed(
    offline: Fluxmem, monkeypatch: pytest.MonkeyPatch, command: list[str], uri: str
) -> None:
    monkeypatch.setenv("NEO4J_URI", uri)
    monkeypatch.setenv("NEO4J_PASSWORD", "other")
    done = offline(*command)
    assert "secret" not in done.out + done.err
    if command == ["stats"]:
        assert (done.code, "NEO4J_USERNAME and NEO4J_PASSWORD" in done.error) == (2, True)


@pytest.mark.parametrize("command", [["skill", "show", "x", "--version", "2"], ["add", "--", "-h"]], ids=str)
def test_an_option_or_text_that_looks_like_a_question_for_help_is_none(
    fluxmem: Fluxmem, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("FLUXMEM_LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("FLUXMEM_LOG_FORMAT", "json")
    assert '"event"' in fluxmem(*command).err


def test_debug_shows_where_a_failure_came_from(offline: Fluxmem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NEO4J_URI", UNREACHABLE)
    monkeypatch.setenv("FLUXMEM_LOG_LEVEL", "DEBUG")
    done = offline("stats")
    assert done.code == 2
    assert "Traceback" in done.err
    assert done.err.splitlines()[-1].startswith("error: NEO4J_URI is set")


@pytest.mark.parametrize("command", [["doctor"], ["reembed", "--model", "hashing"], ["stats"]], ids=str)
def test_every_command_logs_as_the_settings_say(
    fluxmem: Fluxmem, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("FLUXMEM_LOG_LEVEL", "DEBUG")
    monkeypatch.setenv("FLUXMEM_LOG_FORMAT", "json")
    done = fluxmem(*command)
    assert done.code == 0
    logged = [json.loads(line) for line in done.err.splitlines() if line.startswith("{")]
    assert "fluxmem.internal.schema" in {line["event"] for line in logged}


def test_help_is_printed_whatever_the_settings(offline: Fluxmem, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FLUXMEM_POOL_SIZE", "none")
    monkeypatch.setenv("FLUXMEM_LOG_LEVEL", "LOUD")
    for arguments in (["search", "--help"], ["-h"], ["--version"]):
        done = offline(*arguments)
        assert (done.code, done.err) == (0, "")
    assert offline("doctor").code == 2


# One is written when it is complete, the other before.
@pytest.mark.parametrize("command", [["--version"], ["procedures", "list", "--json"]], ids=str)
def test_output_that_can_not_be_written_is_a_failure(
    command: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PYTHONUNBUFFERED", raising=False)
    program = [sys.executable, "-c", "from fluxmem_cli.main import run; run()", *command]
    with Path("/dev/full").open("wb") as full:
        failed = subprocess.run(program, stdout=full, stderr=subprocess.PIPE, text=True, check=False)
    assert failed.returncode == 1
    [line] = failed.stderr.splitlines()
    assert line.startswith("error: ") and "No space left on device" in line
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "wb") as unread:
        left = subprocess.run(program, stdout=unread, stderr=subprocess.PIPE, text=True, check=False)
    assert (left.returncode, left.stderr) == (1, "")


class InterruptedInput(io.BytesIO):
    """Standard input at which Ctrl-C is pressed."""

    def read(self, *_: Any) -> bytes:
        raise KeyboardInterrupt


def test_ctrl_c_ends_with_130_and_one_line(offline: Fluxmem) -> None:
    done = offline("add", "-", stdin=InterruptedInput())
    assert (done.code, done.out, done.err.strip()) == (130, "", "interrupted")
