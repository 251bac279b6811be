"""Commands about single memories, and what a namespace holds."""

from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import (
    IdArgument,
    JsonOption,
    MetaOption,
    NamespaceOption,
    ReasonOption,
    read_moment,
    read_pairs,
    read_text,
)
from fluxmem_cli.output import note_quarantined, print_json, print_pairs, print_table, to_json, to_plain

if TYPE_CHECKING:
    from fluxmem_graph.types import Memory

TextArgument = Annotated[str, typer.Argument(help="The text; `-` reads standard input.")]


def add(
    text: TextArgument,
    title: Annotated[str | None, typer.Option(help="What the text is about.")] = None,
    speaker: Annotated[str | None, typer.Option(help="Who said it.")] = None,
    source: Annotated[str | None, typer.Option(help="Where it comes from.")] = None,
    external_id: Annotated[str | None, typer.Option(help="Your own id, unique within the source.")] = None,
    time: Annotated[str | None, typer.Option(help="When, such as '8 May 2023, 1:56 pm'.")] = None,
    meta: MetaOption = None,
    verified: Annotated[
        bool, typer.Option("--verified", help="Vouch for it: what contradicts it is quarantined.")
    ] = False,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Store one memory and print its id.

    The same fact again gives the memory that is there.
    """
    metadata = read_pairs(meta, "--meta")
    occurred_at = read_moment(time, "--time")
    content = read_text(text)
    with open_memory(namespace) as memory:
        added = memory.add(
            content,
            title=title,
            speaker=speaker,
            source=source,
            external_id=external_id,
            occurred_at=occurred_at,
            metadata=metadata,
            verified=verified,
            reason=reason,
        )
    if added.status == "quarantined":
        note_quarantined()
    print_json(added) if as_json else print(added.id)


def show(memory_id: IdArgument, namespace: NamespaceOption = None, as_json: JsonOption = False) -> None:
    """Print one memory of any layer and status."""
    with open_memory(namespace) as memory:
        found = memory.get(memory_id)
    print_json(found) if as_json else _print_memory(found)


def _print_memory(memory: "Memory") -> None:
    pairs = to_plain(memory)
    metadata = to_json(pairs["metadata"]) if memory.metadata else None
    print_pairs(pairs | {"entities": ", ".join(memory.entities), "metadata": metadata})


def edit(
    memory_id: IdArgument,
    text: TextArgument,
    meta: MetaOption = None,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Replace a memory's text and, if given, its metadata.

    The former version stays in the graph.
    """
    metadata = read_pairs(meta, "--meta") if meta else None
    content = read_text(text)
    with open_memory(namespace) as memory:
        edited = memory.update(memory_id, content, metadata=metadata, reason=reason)
    if edited.status == "quarantined":
        note_quarantined()
    print_json(edited) if as_json else print(f"{edited.id} is now version {edited.version}")


def forget(
    memory_id: IdArgument,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take a memory out of retrieval; undo brings it back."""
    with open_memory(namespace) as memory:
        memory.delete(memory_id, reason=reason)
    print_json({"id": memory_id, "forgotten": True}) if as_json else print(f"{memory_id} is forgotten")


def stats(namespace: NamespaceOption = None, as_json: JsonOption = False) -> None:
    """Count what a namespace holds."""
    with open_memory(namespace) as memory:
        counts = memory.stats()
        name = memory.namespace
    if as_json:
        print_json({"namespace": name, **counts})
        return
    rows = [(kind, item, str(count)) for kind, items in counts.items() for item, count in items.items()]
    print_table(("kind", "name", "count"), rows, title=f"namespace {name}")
