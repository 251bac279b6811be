"""Data on standard output; everything else on standard error."""

import json
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final

PIPED_WIDTH: Final = 160
SNIPPET: Final = 400
# Stored text may hold escape sequences that would steer the terminal.
_CONTROLS: Final = {
    code: f"\\x{code:02x}" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"
}


def note(message: str) -> None:
    """Print a line on standard error."""
    print(printable(message), file=sys.stderr, flush=True)


def note_quarantined(what: str = "it") -> None:
    """Say that a guard keeps something from being recalled."""
    note(f"{what} is quarantined; `fluxmem quarantine list` says why")


def print_text(text: str) -> None:
    """Print text on standard output as it is, but for control characters."""
    print(printable(text))


def print_json(value: object) -> None:
    """Print a value as one JSON document on standard output."""
    print(to_json(value))


def print_json_line(value: object) -> None:
    """Print a value as one line of JSON, at once: whoever reads a stream of them waits for it."""
    print(json.dumps(to_plain(value), ensure_ascii=False), flush=True)


def to_json(value: object) -> str:
    """Return a value as an indented JSON document."""
    return json.dumps(to_plain(value), ensure_ascii=False, indent=2)


def to_plain(value: Any) -> Any:
    """Return a value built of what JSON has; metadata in the form in which it is stored."""
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: _plain_field(field.name, getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): to_plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return str(value) if isinstance(value, Path) else value


def _plain_field(name: str, value: Any) -> Any:
    if name != "metadata":
        return to_plain(value)
    from fluxmem_graph.ingest.values import encode_metadata

    return json.loads(encode_metadata(value)[0])


def print_table(columns: Sequence[str], rows: Iterable[Sequence[str]], title: str | None = None) -> None:
    """Print a table on standard output; cells are text, never markup."""
    from rich.box import SIMPLE
    from rich.table import Column, Table
    from rich.text import Text

    # Folded, never cut: a narrow terminal shows all of an id too.
    headed = [Column(name, overflow="fold") for name in columns]
    table = Table(*headed, title=title, title_justify="left", box=SIMPLE, pad_edge=False)
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row))
    _print_rich(table)


def print_pairs(pairs: Mapping[str, object]) -> None:
    """Print names and values in two columns; values that are None or empty are left out."""
    shown = {name: value for name, value in pairs.items() if value not in (None, "", (), {})}
    width = max(map(len, shown), default=0)
    for name, value in shown.items():
        print(f"{name:<{width}}  {printable(str(value))}")


def _print_rich(renderable: object) -> None:
    from rich.console import Console

    # A pipe has no width: rich would take 80 and break ids.
    Console(width=None if sys.stdout.isatty() else PIPED_WIDTH, highlight=False).print(renderable)


def printable(text: str) -> str:
    """Return text with control characters shown as `\\x1b`."""
    return text.translate(_CONTROLS)


def snippet(text: str) -> str:
    """Return the beginning of a text, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= SNIPPET else line[: SNIPPET - 1] + "…"
