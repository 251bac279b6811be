"""Commands about streams of messages, and about where episodes begin and end."""

import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import STANDARD_INPUT, JsonOption, NamespaceOption, ReasonOption
from fluxmem_cli.output import note, note_quarantined, print_json, print_table, printable, snippet

if TYPE_CHECKING:
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.ingest import Item, ReadNotes
    from fluxmem_graph.types import EpisodeSummary, NewMemory, Observed

_COLUMNS = ("id", "task", "stream", "steps", "success", "started", "ended")


def observe(
    path: Annotated[
        str, typer.Argument(metavar="[PATH]", help="A file; `-` reads standard input.")
    ] = STANDARD_INPUT,
    stream: Annotated[str, typer.Option(help="The stream's name; each has its own episodes.")] = "default",
    jsonl: Annotated[
        bool,
        typer.Option("--jsonl", help="Lines are JSON: text, title, speaker, time, id; so are .jsonl files."),
    ] = False,
    mark: Annotated[bool, typer.Option("--mark", help="The first message opens an episode.")] = False,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take messages as they come, one a line, and cut them into episodes.

    An episode opens at a mark, after idle time or at a topic shift, and the one before it ends; the last one
    stays open for the next messages. Prints each that opens or ends. A line with an id may be repeated. The
    stream is the session of all its messages; one that a line names is kept as metadata. Ends with 1 when a
    line could not be stored.
    """
    from fluxmem_graph.ingest import ReadNotes

    notes = ReadNotes()
    # Before the server: a wrong path is told at once.
    items = _read(path, stream, jsonl, notes)
    done: dict[str, Any] = {"stream": stream, "messages": 0, "quarantined": 0}
    done |= {"opened": [], "closed": [], "failures": []}
    with open_memory(namespace) as memory:
        _observe_all(memory, items, stream, mark, done, quiet=as_json)
    for item in notes.undated:
        note(f"undated: {item.where}: {item.reason}")
    if notes.naive_times:
        note(f"{notes.naive_times} times had no zone and were taken as UTC")
    if as_json:
        print_json(done)
    if done["failures"]:
        raise typer.Exit(1)


def _read(path: str, stream: str, jsonl: bool, notes: "ReadNotes") -> "Iterator[Item]":
    from fluxmem_graph.errors import ConfigurationError
    from fluxmem_graph.ingest import ReadOptions, read_path
    from fluxmem_graph.ingest.paths import ROW_SUFFIXES

    if path != STANDARD_INPUT and not Path(path).is_file():
        raise ConfigurationError(f"{path}: no such file")
    if jsonl or Path(path).suffix.lower() in ROW_SUFFIXES:
        return read_path(path, ReadOptions(source=stream), notes)
    return _lines(path)


def _lines(path: str) -> "Iterator[Item]":
    if path == STANDARD_INPUT:
        yield from _messages(sys.stdin.buffer, "<stdin>")
        return
    with Path(path).open("rb") as lines:
        yield from _messages(lines, path)


def _messages(lines: Iterable[bytes], name: str) -> "Iterator[Item]":
    from fluxmem_graph.errors import InvalidInput
    from fluxmem_graph.ingest.text import decode_text
    from fluxmem_graph.types import Failure, NewMemory

    for number, line in enumerate(lines, start=1):
        try:
            text = decode_text(line).strip()
        except InvalidInput as error:
            yield Failure(f"{name}:{number}", str(error))
            continue
        if text:
            yield NewMemory(text)


def _observe_all(
    memory: "FluxMem", items: "Iterable[Item]", stream: str, mark: bool, done: dict[str, Any], *, quiet: bool
) -> None:
    from fluxmem_graph.errors import Conflict, InvalidInput
    from fluxmem_graph.types import Failure, NewMemory

    for number, item in enumerate(items, start=1):
        if isinstance(item, NewMemory):
            try:
                seen = _observe_one(memory, item, stream, mark)
            except (InvalidInput, Conflict) as error:
                failure = Failure(f"message {number}", str(error))
            else:
                mark = False
                done["messages"] += 1
                _tell(seen, item.content, done, quiet)
                continue
        elif isinstance(item, Failure):
            failure = item
        else:
            failure = Failure(
                f"message {number}", "a trajectory is no message; load it with `fluxmem ingest`"
            )
        done["failures"].append(failure)
        note(f"failed: {failure.where}: {failure.reason}")


def _observe_one(memory: "FluxMem", item: "NewMemory", stream: str, mark: bool) -> "Observed":
    return memory.observe(
        item.content,
        speaker=item.speaker,
        title=item.title,
        occurred_at=item.occurred_at,
        stream=stream,
        mark=mark,
        external_id=item.external_id,
        metadata=item.metadata,
    )


def _tell(seen: "Observed", text: str, done: dict[str, Any], quiet: bool) -> None:
    done["quarantined"] += len(seen.quarantined)
    for name in seen.quarantined:
        note_quarantined(name)
    if seen.closed is not None:
        done["closed"].append(seen.closed)
        _say(f"closed {seen.closed}", quiet)
    if seen.opened:
        done["opened"].append({"episode": seen.episode_id, "why": seen.why})
        _say(f"opened {seen.episode_id} ({seen.why}): {snippet(text)}", quiet)


def _say(line: str, quiet: bool) -> None:
    # At once: whoever reads a live stream waits for it.
    if not quiet:
        print(printable(line), flush=True)


def episodes(
    top: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List recent episodes, running or ended."""
    with open_memory(namespace) as memory:
        found = memory.episodes(top)
    if as_json:
        print_json({"episodes": found})
    elif found:
        print_table(_COLUMNS, map(_row, found))
    else:
        note("no episode yet; see `fluxmem episode start --help` and `fluxmem observe --help`")


def _row(episode: "EpisodeSummary") -> tuple[str, ...]:
    return (
        episode.id,
        snippet(episode.task),
        episode.source or "",
        str(episode.steps),
        "" if episode.success is None else f"{episode.success:g}",
        f"{episode.started_at:%Y-%m-%d %H:%M:%S}",
        "running" if episode.ended_at is None else f"{episode.ended_at:%Y-%m-%d %H:%M:%S}",
    )


def split(
    episode_id: Annotated[str, typer.Argument(metavar="EPISODE", help="The episode's id.")],
    at: Annotated[int, typer.Argument(help="The first step of the new episode; steps count from 0.")],
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Move the steps of an ended episode from there on into a new one, and print its id."""
    with open_memory(namespace) as memory:
        later = memory.split_episode(episode_id, at, reason=reason)
    print_json({"episode": episode_id, "new": later}) if as_json else print(later)


def merge(
    first: Annotated[str, typer.Argument(help="The episode that stays.")],
    second: Annotated[str, typer.Argument(help="The episode whose steps are appended.")],
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Append the steps of one ended episode to another, and delete it."""
    with open_memory(namespace) as memory:
        memory.merge_episodes(first, second, reason=reason)
    print_json({"episode": first, "merged": second}) if as_json else print(f"{second} is now part of {first}")
