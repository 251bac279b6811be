"""What MkDocs builds besides the pages here: the command line reference, and pages that lie elsewhere."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Final

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

ROOT: Final = Path(__file__).parents[1]
DOCS: Final = ROOT / "docs"
ELSEWHERE: Final = {"index.md": ROOT / "README.md", "results.md": ROOT / "benchmarks" / "README.md"}
REFERENCE: Final = "cli.md"
COLOURS: Final = "code.css"

_LINK: Final = re.compile(r"(?P<text>!?\[[^\]]*\])\((?P<target>[^)\s#:]+)(?P<anchor>#[^)\s]*)?\)")


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add what is made from the app and what is written for readers of the repository."""
    colours = printed_by("pygments", "-S", "default", "-f", "html", "-a", ".codehilite")
    files.append(File.generated(config, COLOURS, content=colours))
    command_line = ("--name", "fluxmem", "--title", "Command line")
    reference = printed_by("typer", "fluxmem_cli.main", "utils", "docs", *command_line)
    files.append(File.generated(config, REFERENCE, content=reference))
    for page, source in ELSEWHERE.items():
        files.append(File.generated(config, page, content=source.read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, files: Files) -> str:  # noqa: ARG001
    """Let links that are right in the repository be right in the handbook."""
    name = page.file.src_uri
    source = ELSEWHERE.get(name, DOCS / name)
    return markdown if name == REFERENCE else _LINK.sub(lambda link: _moved(link, source), markdown)


def _moved(link: re.Match[str], source: Path) -> str:
    target = (source.parent / link["target"]).resolve()
    if not target.exists():
        raise PluginError(f"{source.relative_to(ROOT)} links to {link['target']}, which is not there")
    pages = {path: page for page, path in ELSEWHERE.items()}
    if target in pages:
        return f"{link['text']}({pages[target]}{link['anchor'] or ''})"
    if target.is_relative_to(DOCS):
        return f"{link['text']}({target.relative_to(DOCS).as_posix()}{link['anchor'] or ''})"
    # What is no page, such as an example, is named and not linked.
    return link["text"].removeprefix("[").removesuffix("]")


def printed_by(module: str, *arguments: str) -> str:
    """Return what a module's command prints. Raises PluginError."""
    command = [sys.executable, "-m", module, *arguments]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise PluginError(f"{module} failed: {done.stderr}")
    return done.stdout
