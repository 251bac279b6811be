"""Loading files into the memory."""

import itertools
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import JsonOption, NamespaceOption, read_words
from fluxmem_cli.output import note, print_json, print_pairs
from fluxmem_cli.progress import progress_bar

if TYPE_CHECKING:
    from fluxmem_graph.ingest import Item, ReadNotes
    from fluxmem_graph.settings import PolicyName
    from fluxmem_graph.types import Failure, IngestReport

SHOWN: Final = 20


def ingest(
    paths: Annotated[
        list[str], typer.Argument(metavar="PATH...", help="Files or folders; `-` reads standard input.")
    ],
    source: Annotated[str | None, typer.Option(help="One name of the source for all files.")] = None,
    fields: Annotated[
        str, typer.Option("--map", metavar="MEANING=FIELD,...", help="Such as content=body,speaker=author.")
    ] = "",
    drop: Annotated[str, typer.Option(metavar="FIELD,...", help="Fields to leave out.")] = "",
    chunk_words: Annotated[int, typer.Option(min=1, help="Longest chunk of text and Markdown files.")] = 180,
    policy: Annotated[
        str | None, typer.Option(metavar="NAME", help="static, rules, llm or learned: what decides.")
    ] = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Load JSON Lines, text and Markdown files.

    It is safe to repeat and to resume. Rows are turns, passages or trajectories. Meanings that --map knows:
    id, content, caption, title, speaker, time, session; task, steps, success. Ends with 1 when an item could
    not be read or stored.
    """
    from fluxmem_graph.ingest import ReadNotes, ReadOptions, parse_map, read_path

    chosen = read_policy(policy)
    options = ReadOptions(source, parse_map(fields), frozenset(read_words(drop)), chunk_words)
    notes = ReadNotes()
    # All paths before the server: a wrong one is told at once.
    readers = [read_path(path, options, notes) for path in paths]
    items = itertools.chain.from_iterable(readers)
    load(items, notes, namespace, as_json, total=_row_count(paths), policy=chosen)


def load(
    items: "Iterable[Item]",
    notes: "ReadNotes",
    namespace: str | None,
    as_json: bool,
    *,
    total: int | None = None,
    policy: "PolicyName | None" = None,
) -> None:
    """Store items and print the report; end with 1 when one could not be read or stored."""
    with open_memory(namespace) as memory, progress_bar("ingest", total) as tick:
        report = memory.ingest(items, lambda done: tick(done, None, None), policy=policy)
    # Undated items are the reader's to know, the rest is the writer's.
    report.undated = notes.undated
    _print_report(report, notes, as_json)
    if report.failures:
        raise typer.Exit(1)


def read_policy(name: str | None) -> "PolicyName | None":
    """Return the name of a policy. Raises ConfigurationError."""
    from typing import get_args

    from fluxmem_graph.errors import ConfigurationError
    from fluxmem_graph.settings import PolicyName

    for known in get_args(PolicyName):
        if known == name:
            return known  # type: ignore[no-any-return]
    if name is None:
        return None
    raise ConfigurationError(f"--policy: no policy {name!r}; choose from {', '.join(get_args(PolicyName))}")


def _row_count(paths: Sequence[str]) -> int | None:
    """Return the number of lines when all paths are JSON Lines files that can be read, else None."""
    from fluxmem_graph.ingest.paths import ROW_SUFFIXES

    files = [Path(path) for path in paths]
    if not all(file.is_file() and file.suffix.lower() in ROW_SUFFIXES for file in files):
        return None
    total = 0
    try:
        for file in files:
            with file.open("rb") as lines:
                total += sum(1 for _ in lines)
    except OSError:
        # The reader names it, and goes on with the others.
        return None
    return total


def report_json(report: "IngestReport") -> dict[str, Any]:
    """Return a report with its rate, in items per second."""
    items = report.created + report.unchanged + report.skipped + len(report.failures)
    return {**asdict(report), "rate": items / report.seconds if report.seconds else 0.0}


def _print_report(report: "IngestReport", notes: "ReadNotes", as_json: bool) -> None:
    figures = report_json(report)
    if as_json:
        print_json({**figures, "naive_times": notes.naive_times})
    else:
        print_pairs(
            {
                "created": report.created,
                "unchanged": report.unchanged,
                **({"quarantined": report.quarantined} if report.quarantined else {}),
                "skipped": report.skipped or None,
                "operations": " ".join(f"{kind} {n}" for kind, n in report.operations.items()),
                "failed": len(report.failures),
                "undated": len(report.undated),
                "seconds": f"{report.seconds:.1f}",
                "rate": f"{figures['rate']:.1f} items/s",
                "run": report.run_id,
            }
        )
    if notes.naive_times:
        note(f"{notes.naive_times} times had no zone and were taken as UTC")
    _list_items("failed", report.failures)
    _list_items("undated", report.undated)


def _list_items(what: str, items: Sequence["Failure"]) -> None:
    for item in items[:SHOWN]:
        note(f"{what}: {item.where}: {item.reason}")
    if len(items) > SHOWN:
        note(f"{what}: {len(items) - SHOWN} more; --json lists all")
