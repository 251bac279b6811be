"""What the README and the pages of the handbook show runs as printed, block by block in their order.

A page has a namespace of its own, and each block a folder like a clone. `make` only says what it would do:
it makes this run of the tests, and the demo has tests of its own.
"""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from markdown_it import MarkdownIt

from fluxmem_cli.demo import load_example
from fluxmem_graph import FluxMem, Settings

ROOT = Path(__file__).parents[2]
PAGES = [
    "README.md",
    "CONTRIBUTING.md",
    "benchmarks/README.md",
    "examples/medals/README.md",
    *sorted(f"docs/{page.name}" for page in (ROOT / "docs").glob("*.md")),
]
LANGUAGES = ("python", "sh", "cypher", "json")
# What a clone has, and what pages name themselves.
CLONED = ("Makefile", "constraints.txt", "docker-compose.yml", "examples", "pyproject.toml")
NAMED = ("readme", "handbook", "handbook-secrets", "demo", "kept", "harbour", "harbour-copy", "harbour-again")


@dataclass(frozen=True)
class Block:
    """A code block, and where it stands."""

    page: str
    line: int
    language: str
    code: str


def read_blocks(page: str) -> Iterator[Block]:
    """Return the code blocks of a page, also those without a language."""
    for token in MarkdownIt().parse((ROOT / page).read_text(encoding="utf-8")):
        if token.type in ("fence", "code_block"):
            assert token.map is not None
            yield Block(page, token.map[0] + 1, token.info, token.content)


BLOCKS = [block for page in PAGES for block in read_blocks(page)]


def blocks(language: str) -> list[str]:
    """Return all blocks of a language, those of the README first."""
    return [block.code for block in BLOCKS if block.language == language]


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
        "FLUXMEM_NAMESPACE": settings.namespace,
        "MAKEFLAGS": "n",
    }


def runs_and_prints(command: list[str], settings: Settings, folder: Path) -> None:
    """Run a command against the shared server, in a folder of its own; it must succeed and say something."""
    done = subprocess.run(
        command, check=False, env=environment(settings), cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip()


@pytest.fixture(scope="module")
def demo(connected: FluxMem) -> Iterator[FluxMem]:
    """The example as `fluxmem demo` leaves it; what else pages name is erased, before and after."""
    for name in NAMED:
        connected.within(name).erase_namespace()
    load_example(connected.within("demo"))
    yield connected.within("demo")
    for name in NAMED:
        connected.within(name).erase_namespace()


@pytest.fixture(scope="module")
def settings_of(tenant: Callable[[], FluxMem]) -> Callable[[str], Settings]:
    """Gives each page a namespace."""
    made: dict[str, Settings] = {}

    def find(page: str) -> Settings:
        if page not in made:
            made[page] = tenant().settings
        return made[page]

    return find


@pytest.fixture
def clone(tmp_path: Path) -> Path:
    """A folder like a clone, with small conversations where pages have those of LoCoMo."""
    for name in CLONED:
        (tmp_path / name).symlink_to(ROOT / name)
    for number in (26, 30, 41, 42, 43):
        write_conversation(tmp_path / f"conv-{number}", number)
    return tmp_path


def write_conversation(folder: Path, number: int) -> None:
    """Write twelve turns, of which four are asked for and no other conversation has any."""
    folder.mkdir()
    rows = [
        {
            "id": f"D{place}",
            "session": "1",
            "speaker": ("Ada", "Eli")[place % 2],
            "text": f"Fine, {number}.{place}!" if place % 3 else f"I bought kayak {number}.{place}.",
        }
        for place in range(12)
    ]
    questions = [
        {"id": f"q{place}", "question": f"Who bought kayak {number}.{place}?", "evidence": [f"D{place}"]}
        for place in range(0, 12, 3)
    ]
    for name, written in (("turns", rows), ("questions", questions)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in written))


@pytest.mark.parametrize("block", BLOCKS, ids=lambda block: f"{block.page}:{block.line}")
def test_a_block_runs(
    block: Block, demo: FluxMem, settings_of: Callable[[str], Settings], clone: Path
) -> None:
    assert block.language in LANGUAGES, f"{block.page}:{block.line} is of no language that is run here"
    if block.language == "python":
        runs_and_prints([sys.executable, "-c", block.code], settings_of(block.page), clone)
    elif block.language == "sh":
        runs_and_prints(["bash", "-euo", "pipefail", "-c", block.code], settings_of(block.page), clone)
    elif block.language == "cypher":
        assert demo.database.call(block.code)
    else:
        # The first is run by the tests of MCP.
        for server in json.loads(block.code)["mcpServers"].values():
            assert server.get("command") == "fluxmem" or urlsplit(server["url"]).path == "/mcp"
