"""Options that many commands share, and how their values are read."""

import json
import sys
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

STANDARD_INPUT = "-"

IdArgument = Annotated[str, typer.Argument(metavar="ID", help="The memory's id.")]
NamespaceOption = Annotated[
    str | None,
    typer.Option("--namespace", "-n", help="Whose memories; FLUXMEM_NAMESPACE or `default` if not given."),
]
JsonOption = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
WhereOption = Annotated[
    list[str] | None,
    typer.Option("--where", metavar="KEY=VALUE", help="Only memories with this metadata; repeatable."),
]
MetaOption = Annotated[
    list[str] | None,
    typer.Option("--meta", metavar="KEY=VALUE", help="Metadata, typed like JSON, else text; repeatable."),
]
TopKOption = Annotated[int, typer.Option("--top-k", "-k", min=1, help="How many facts.")]
ReasonOption = Annotated[str, typer.Option("--reason", help="Why, for the operation log.")]


def read_pairs(pairs: Sequence[str] | None, option: str) -> dict[str, Any]:
    """Read `key=value` pairs: true, 3 and 2.5 as JSON does, "3" in quotes as text, all else as text.

    Raises ConfigurationError.
    """
    from fluxmem_graph.errors import ConfigurationError

    read: dict[str, Any] = {}
    for pair in pairs or ():
        key, equals, text = pair.partition("=")
        if not (key and equals):
            raise ConfigurationError(f"{option} {pair!r}: write KEY=VALUE")
        if key in read:
            raise ConfigurationError(f"{option} {key} is given twice")
        read[key] = _typed(text)
    return read


def _typed(text: str) -> Any:
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        return text
    return value if isinstance(value, bool | int | float | str) else text


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def read_moment(text: str | None, option: str) -> datetime | None:
    """Read a time as people write it, in UTC unless it names a zone. Raises ConfigurationError."""
    from fluxmem_cli.output import note
    from fluxmem_graph.errors import ConfigurationError
    from fluxmem_graph.ingest.times import read_time

    if text is None:
        return None
    found = read_time(text)
    if found is None:
        raise ConfigurationError(f"{option} {text!r} can't be read; write such as '2023-05-08 13:56'")
    if found.naive:
        note(f"{option} has no zone and was taken as UTC: {found.at.isoformat()}")
    return found.at


def read_words(text: str) -> list[str]:
    """Split `a,b` into words without their white space."""
    return [word for word in (part.strip() for part in text.split(",")) if word]


def read_text(text: str) -> str:
    """Return the text, or what standard input holds for `-`. Raises InvalidInput when it is not UTF-8."""
    if text != STANDARD_INPUT:
        return text
    from fluxmem_graph.ingest.text import decode_text

    return decode_text(sys.stdin.buffer.read()).removesuffix("\n")
