"""Commands about the operation log."""

from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import JsonOption, NamespaceOption, ReasonOption, read_moment
from fluxmem_cli.output import note, print_json, print_table, snippet

if TYPE_CHECKING:
    from fluxmem_graph.types import Operation

_COLUMNS = ("seq", "at", "kind", "actor", "reason", "operation", "run", "touched")


def log(
    memory_id: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Only operations of this memory.")
    ] = None,
    top: Annotated[int, typer.Option(min=1, help="How many, newest first.")] = 20,
    kind: Annotated[list[str] | None, typer.Option(help="Only this kind; repeatable.")] = None,
    actor: Annotated[str | None, typer.Option(help="Only what this actor did.")] = None,
    run: Annotated[str | None, typer.Option(help="Only operations of this run.")] = None,
    since: Annotated[str | None, typer.Option(metavar="TIME", help="From this time on.")] = None,
    until: Annotated[str | None, typer.Option(metavar="TIME", help="Up to this time.")] = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List operations, newest first."""
    begin, end = read_moment(since, "--since"), read_moment(until, "--until")
    with open_memory(namespace) as memory:
        operations = memory.log(
            memory_id, top=top, kinds=kind or (), actor=actor, run_id=run, since=begin, until=end
        )
        if memory_id is not None and not operations:
            # Raises NotFound for an id that isn't there at all.
            memory.get(memory_id)
    if as_json:
        print_json({"operations": operations})
    elif operations:
        print_table(_COLUMNS, map(_row, operations))
    else:
        note("no operation matches; `fluxmem log` without options lists the newest of all")


def _row(operation: "Operation") -> tuple[str, ...]:
    marks = ["erased"] * operation.erased + ["undone"] * operation.undone
    return (
        str(operation.seq),
        f"{operation.at:%Y-%m-%d %H:%M:%S}",
        " ".join([operation.kind, *(f"({mark})" for mark in marks)]),
        operation.actor,
        snippet(operation.reason),
        operation.id,
        operation.run_id or "",
        "\n".join(operation.touched),
    )


def undo(
    operation_id: Annotated[
        str | None, typer.Argument(metavar="[OPERATION]", help="The operation's id, from `fluxmem log`.")
    ] = None,
    run: Annotated[str | None, typer.Option(help="A whole run, such as an ingest, instead.")] = None,
    first: Annotated[int | None, typer.Option("--from", metavar="SEQ", help="A range, from here.")] = None,
    last: Annotated[int | None, typer.Option("--to", metavar="SEQ", help="A range, up to here.")] = None,
    reason: ReasonOption = "",
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Take back one operation, a range, or a whole run.

    Of a range or run everything is taken back, newest first, or nothing when one of them can't be. A hundred
    operations are one transaction: when it is interrupted, run it again for the rest.
    """
    from fluxmem_graph.errors import ConfigurationError

    ranged = first is not None and last is not None
    if (first is None) != (last is None) or [operation_id is None, run is None, not ranged].count(False) != 1:
        raise ConfigurationError("name one operation, --run RUN, or --from SEQ and --to SEQ")
    with open_memory(namespace) as memory:
        if operation_id is not None:
            memory_id = memory.undo(operation_id, reason=reason)
            done: dict[str, object] = {"operation": operation_id, "memory": memory_id}
            said = f"undone; it touched memory {memory_id}"
        else:
            undone = (
                memory.undo_run(run, reason=reason)
                if run is not None
                else memory.undo_range(first or 0, last or 0, reason=reason)
            )
            done = {"operations": undone.operations, "skipped": undone.skipped}
            said = f"{len(undone.operations)} operations undone, {undone.skipped} were undone already"
    print_json(done) if as_json else print(said)
