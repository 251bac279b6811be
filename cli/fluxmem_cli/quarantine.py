"""Commands about what the guards object to."""

from typing import Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import IdArgument, JsonOption, NamespaceOption, ReasonOption
from fluxmem_cli.output import note, print_json, print_table, snippet


def list_quarantined(
    top: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List quarantined memories and why each is."""
    with open_memory(namespace) as memory:
        found = memory.quarantined(top)
    if as_json:
        print_json({"quarantined": found})
        return
    if not found:
        note("nothing is quarantined, so there is nothing to release or drop")
        return
    rows = [(one.id, f"{one.at:%Y-%m-%d %H:%M:%S}", one.why, snippet(one.content)) for one in found]
    print_table(("id", "at", "why", "content"), rows)


def release(
    memory_id: IdArgument,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Let a quarantined memory be recalled; undo takes that back."""
    with open_memory(namespace) as memory:
        memory.release(memory_id, reason=reason)
    print_json({"id": memory_id, "released": True}) if as_json else print(f"{memory_id} is released")


def drop(
    memory_id: IdArgument,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Delete a quarantined memory; a rewritten one gets its former text back.

    Undo takes that back.
    """
    with open_memory(namespace) as memory:
        memory.drop(memory_id, reason=reason)
    print_json({"id": memory_id, "dropped": True}) if as_json else print(f"{memory_id} is dropped")
