"""Commands about the operation log."""

from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import JsonOption, NamespaceOption, ReasonOption
from fluxmem_cli.output import print_json, print_table, snippet

if TYPE_CHECKING:
    from fluxmem_graph.types import Operation

_COLUMNS = ("seq", "at", "kind", "actor", "reason", "operation", "touched")


def log(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only operations of this memory.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List operations, newest first."""
    with open_memory(namespace) as memory:
        operations = memory.log(memory_id, top=top)
    if as_json:
        print_json({"operations": operations})
    else:
        print_table(_COLUMNS, map(_row, operations))


def _row(operation: "Operation") -> tuple[str, ...]:
    return (
        str(operation.seq),
        f"{operation.at:%Y-%m-%d %H:%M:%S}",
        operation.kind,
        operation.actor,
        snippet(operation.reason),
        operation.id,
        "\n".join(operation.touched),
    )


def undo(
    operation_id: Annotated[str, typer.Argument(help="The operation's id, from `fluxmem log`.")],
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take one operation back."""
    with open_memory(namespace) as memory:
        memory_id = memory.undo(operation_id, reason=reason)
    if as_json:
        print_json({"operation": operation_id, "memory": memory_id})
    else:
        print(f"undone; it touched memory {memory_id}")
