"""Commands about memory as it was: `fluxmem at TIME ...`."""

from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import (
    IdArgument,
    JsonOption,
    NamespaceOption,
    TopKOption,
    WhereOption,
    read_moment,
    read_pairs,
    read_text,
)
from fluxmem_cli.output import note, print_json, print_pairs
from fluxmem_cli.retrieval import QueryArgument, print_activation

if TYPE_CHECKING:
    from datetime import datetime

app = typer.Typer(help="Memory as the store had it at a time.", rich_markup_mode=None)


@app.callback()
def at(
    context: typer.Context,
    time: Annotated[str, typer.Argument(metavar="TIME", help="Such as '2026-05-08 13:56', in UTC.")],
) -> None:
    """Read memory as the store had it at TIME: contents, status and versions, not the weights of links."""
    context.obj = read_moment(time, "TIME")


def _moment(context: typer.Context) -> "datetime":
    found: datetime = context.obj
    return found


@app.command()
def search(
    context: typer.Context,
    query: QueryArgument,
    top_k: TopKOption = 10,
    where: WhereOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find what would have answered a question then: facts, episodes and skills, best first."""
    filters = read_pairs(where, "--where")
    text = read_text(query)
    with open_memory(namespace) as memory:
        found = memory.at(_moment(context)).activate(text, top_k=top_k, where=filters)
    print_json(found) if as_json else print_activation(found, explain=False)


@app.command()
def show(
    context: typer.Context,
    memory_id: IdArgument,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the version and the status that a memory had then."""
    with open_memory(namespace) as memory:
        found = memory.at(_moment(context)).get(memory_id)
        if memory.get(memory_id).version != found.version:
            note("another version is there now")
    if as_json:
        print_json(found)
    else:
        print_pairs(
            {
                "id": found.id,
                "version": found.version,
                "status": found.status,
                "content": found.content,
            }
        )
