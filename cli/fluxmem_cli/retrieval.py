"""Commands that ask the memory."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import JsonOption, NamespaceOption, TopKOption, WhereOption, read_pairs, read_text
from fluxmem_cli.output import note, print_json, print_pairs, print_table, print_text, snippet

if TYPE_CHECKING:
    from fluxmem_graph.types import Activation, Hit

QueryArgument = Annotated[str, typer.Argument(help="The question; `-` reads standard input.")]
ObservationArgument = Annotated[str, typer.Argument(help="What the agent sees; `-` reads standard input.")]

_SIGNALS = ("dense", "sparse", "verified", "spread")


def search(
    query: QueryArgument,
    top_k: TopKOption = 10,
    where: WhereOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Find the facts that answer a question, best first."""
    filters = read_pairs(where, "--where")
    text = read_text(query)
    with open_memory(namespace) as memory:
        found = memory.activate(text, top_k=top_k, where=filters)
    if as_json:
        print_json({"query": found.query, "hits": found.facts, "signals": found.signals})
    elif found.facts:
        print_hits(found.facts)
    else:
        note("nothing was found")


def activate(
    observation: ObservationArgument,
    explain: Annotated[
        bool, typer.Option("--explain", help="Show every signal's value and what brought each memory.")
    ] = False,
    top_k: TopKOption = 10,
    where: WhereOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Bring back facts, similar episodes and skills."""
    filters = read_pairs(where, "--where")
    text = read_text(observation)
    with open_memory(namespace) as memory:
        found = memory.activate(text, top_k=top_k, where=filters)
    print_json(found) if as_json else print_activation(found, explain)


def context(
    observation: ObservationArgument,
    task: Annotated[str | None, typer.Option(help="What the agent is to do.")] = None,
    budget: Annotated[int, typer.Option(min=1, help="Most tokens, an estimate.")] = 2000,
    top_k: TopKOption = 10,
    where: WhereOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print what was activated as text for a prompt."""
    filters = read_pairs(where, "--where")
    text = read_text(observation)
    with open_memory(namespace) as memory:
        made = memory.context(text, task=task, budget=budget, top_k=top_k, where=filters)
    if as_json:
        print_json({"text": made.text, "cited": made.cited, "tokens": made.tokens})
    else:
        print_text(made.text)


def print_activation(found: "Activation", explain: bool) -> None:
    """Print the layers that brought something, and with `explain` how each signal was had."""
    layers = {"facts": found.facts, "episodes": found.episodes, "skills": found.skills}
    if not any(layers.values()):
        note("nothing was found")
    for title, hits in layers.items():
        if hits:
            print_hits(hits, title=title, explain=explain)
    if explain:
        print_pairs(found.signals)


def print_hits(hits: Sequence["Hit"], title: str | None = None, explain: bool = False) -> None:
    """Print hits as a table, with `explain` every signal and the path that brought each."""
    columns = ("score", *(_SIGNALS if explain else ()), "memory", *(("brought by",) if explain else ()))
    print_table(columns, [_row(hit, explain) for hit in hits], title=title)


def _row(hit: "Hit", explain: bool) -> list[str]:
    cells = [f"{hit.score:.3f}", f"{snippet(hit.content)}\n{_origin(hit)}"]
    if not explain:
        return cells
    values = [getattr(hit.signals, name) for name in _SIGNALS]
    signals = ["-" if value is None else f"{value:.3f}" for value in values]
    return [cells[0], *signals, cells[1], "\n".join(hit.path)]


def _origin(hit: "Hit") -> str:
    at = f"{hit.occurred_at:%Y-%m-%d %H:%M}" if hit.occurred_at else None
    parts = (hit.id, hit.speaker, at, hit.source, hit.external_id)
    return " · ".join(part for part in parts if part)
