"""The handbook: it builds without a warning, needs no network, and leaves out no command, label or link."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html import unescape
from pathlib import Path

import pytest
import typer

from fluxmem_cli.main import app

ROOT = Path(__file__).parents[2]
STATEMENTS = [*(ROOT / "cypher" / "procedures").iterdir(), *(ROOT / "cypher" / "queries").iterdir()]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built handbook; a link that leads nowhere, or a page that nothing leads to, ends the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--quiet", "--strict", "--site-dir", str(folder)]
    done = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return folder


def commands(group: object, path: str) -> Iterator[str]:
    """Return the full names of all commands in a group."""
    for name, command in getattr(group, "commands", {}).items():
        yield f"{path} {name}"
        yield from commands(command, f"{path} {name}")


def test_the_reference_has_every_command(site: Path) -> None:
    page = (site / "cli.html").read_text(encoding="utf-8")
    headings = {unescape(found) for found in re.findall(r"<h[23][^>]*><code>([^<]+)</code>", page)}
    wanted = set(commands(typer.main.get_command(app), "fluxmem"))
    assert {"fluxmem add", "fluxmem at search", "fluxmem eval retrieval"} <= wanted
    assert headings == wanted


def test_the_first_page_is_the_readme_and_the_results_are_those_of_the_benchmarks(site: Path) -> None:
    for page, source in (("index.html", "README.md"), ("results.html", "benchmarks/README.md")):
        heading = (ROOT / source).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        text = (site / page).read_text(encoding="utf-8")
        assert re.search(rf"<h1[^>]*>{re.escape(heading)}", text)


def test_a_page_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = list(site.glob("*.html"))
    assert len(pages) > 15
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = re.findall(r"<(?:script|img|iframe)\b[^>]*\bsrc=\"?([^\"\s>]+)", text)
        loaded += re.findall(r"<link\b[^>]*\brel=\"?stylesheet\"?[^>]*\bhref=\"?([^\"\s>]+)", text)
        loaded += re.findall(r"<link\b[^>]*\bhref=\"?([^\"\s>]+)\"?[^>]*\brel=\"?stylesheet", text)
        assert loaded
        assert [found for found in loaded if "//" in found] == []


def test_the_concepts_name_every_label_and_link_of_the_statements() -> None:
    texts = "\n".join(file.read_text(encoding="utf-8") for file in STATEMENTS)
    links = set(re.findall(r"\b[A-Z_]{4,}\b", " ".join(re.findall(r"\[\w*:([A-Z_|]+)", texts))))
    labels = {name for found in re.findall(r"\(\w*((?::[A-Z]\w+)+)", texts) for name in found[1:].split(":")}
    assert {"SUPPORTS", "DISTILLED_INTO", "FROM"} <= links
    assert {"Semantic", "Operation", "Namespace"} <= labels
    page = (ROOT / "docs" / "concepts.md").read_text(encoding="utf-8")
    assert {name for name in links | labels if f"`{name}`" not in page} == set()
    picture = (ROOT / "docs" / "images" / "graph-model.svg").read_text(encoding="utf-8")
    # A tenant and the schema have no links, and every memory is of a layer.
    shown = {*links, *labels} - {"Namespace", "SchemaVersion", "Memory"}
    assert {name for name in shown if f">{name}<" not in picture} == set()
