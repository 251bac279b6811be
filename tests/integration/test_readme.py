"""What the README shows runs as printed."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from fluxmem_graph import FluxMem, Settings

README = (Path(__file__).parents[2] / "README.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    """Return the code blocks of a language."""
    found = re.findall(r"^```(\w*)\n(.*?)^```$", README, re.DOTALL | re.MULTILINE)
    return [code for kind, code in found if kind == language]


def environment(settings: Settings) -> dict[str, str]:
    """Return variables that lead to the shared server."""
    assert settings.neo4j_uri is not None
    assert settings.neo4j_password is not None
    return {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "NEO4J_URI": settings.neo4j_uri,
        "NEO4J_USERNAME": settings.neo4j_username,
        "NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
        "FLUXMEM_EMBEDDER": settings.embedder,
    }


def runs_and_prints(command: list[str], settings: Settings, folder: Path) -> None:
    """Run a command against the shared server, in a folder of its own; it must succeed and say something."""
    done = subprocess.run(
        command, check=False, env=environment(settings), cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.mark.parametrize("code", blocks("python"))
def test_python_runs_and_prints(code: str, server_settings: Settings, tmp_path: Path) -> None:
    runs_and_prints([sys.executable, "-c", code], server_settings, tmp_path)


def test_cypher_finds_what_python_stored(server_settings: Settings) -> None:
    with FluxMem.connect(server_settings.model_copy(update={"namespace": "readme"})) as memory:
        memory.add("Medals are counted per athlete.")
        (query,) = blocks("cypher")
        assert memory.database.call(query)


@pytest.mark.parametrize("script", blocks("sh"))
def test_shell_scripts_run(script: str, server_settings: Settings, tmp_path: Path) -> None:
    runs_and_prints(["bash", "-euo", "pipefail", "-c", script], server_settings, tmp_path)


def commands() -> list[str]:
    """Return the command lines that need nothing but a server."""
    lines = [line for block in blocks("") for line in block.splitlines()]
    return [line for line in lines if line.startswith("fluxmem ") and "chats/" not in line]


@pytest.mark.parametrize("line", commands())
def test_commands_run(line: str, server_settings: Settings, tmp_path: Path) -> None:
    runs_and_prints(["bash", "-c", line], server_settings, tmp_path)
