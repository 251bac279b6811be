"""Commands that teach the memory, and that show what it has learned."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.episodes import BudgetOption, EpisodeArgument, context_json, record_step
from fluxmem_cli.options import JsonOption, NamespaceOption, TopKOption
from fluxmem_cli.output import note, print_json, print_pairs, print_table, print_text, snippet

if TYPE_CHECKING:
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.retrieval.context import Context
    from fluxmem_graph.types import Link, LinkReason, Refinement, Vote

SHOWN = 10

TextOption = Annotated[str, typer.Option(help="What went wrong, or what would have been right.")]
MissingOption = Annotated[str, typer.Option(help="What the context lacked, in the words of such a memory.")]
UsedOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="A memory that was used; repeatable.")
]
UnusedOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="A memory that was noise; repeatable.")
]
TooCoarseOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="One that holds far more than was needed; repeatable.")
]
TooFineOption = Annotated[
    list[str] | None, typer.Option(metavar="ID", help="One that needs what stands around it; repeatable.")
]


def feedback(
    episode_id: EpisodeArgument,
    success: Annotated[
        float | None, typer.Option(min=0, max=1, help="How the step went; 0.5 and more is a success.")
    ] = None,
    text: TextOption = "",
    answer: Annotated[
        str, typer.Option(help="The agent's answer, checked against the context in place of --success.")
    ] = "",
    missing: MissingOption = "",
    used: UsedOption = None,
    unused: UnusedOption = None,
    too_coarse: TooCoarseOption = None,
    too_fine: TooFineOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how the last step of a running episode went.

    Prints what that changed: links made, memories hidden from the episode, rewritings. Each step takes one
    feedback; `log` shows it, and `undo` takes it back.
    """
    from fluxmem_graph.errors import ConfigurationError

    if success is None and not answer:
        raise ConfigurationError("give --success, or --answer to have that checked against the context")
    with open_memory(namespace) as memory:
        changed = memory.feedback(
            episode_id,
            success,
            text,
            answer=answer,
            missing=missing,
            used=used or (),
            unused=unused or (),
            too_coarse=too_coarse or (),
            too_fine=too_fine or (),
        )
    _print_changed(episode_id, changed, as_json)


def refine(
    episode_id: EpisodeArgument,
    success: Annotated[
        float, typer.Option(min=0, max=1, help="How the last step went; 0.5 and more is a success.")
    ] = 0.0,
    text: TextOption = "",
    missing: MissingOption = "",
    used: UsedOption = None,
    unused: UnusedOption = None,
    too_coarse: TooCoarseOption = None,
    too_fine: TooFineOption = None,
    top_k: TopKOption = 10,
    budget: BudgetOption = 2000,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Refine memory after a failed step, and print the next context.

    One round of the loop on a running episode: the last step gets its feedback, its observation is activated
    again, and the new context is printed and recorded as the next step, for `refine` or `feedback` to judge.
    After a success there is no next round: end the episode, or record a step with another observation. What
    changed goes to standard error, so that a script can pass the context on.
    """
    from fluxmem_graph.stages.refinement import SOLVED

    with open_memory(namespace) as memory:
        changed = memory.feedback(
            episode_id,
            success,
            text,
            missing=missing,
            used=used or (),
            unused=unused or (),
            too_coarse=too_coarse or (),
            too_fine=too_fine or (),
        )
        made = None if changed.success >= SOLVED else _next_round(memory, episode_id, top_k, budget)
    _print_round(episode_id, changed, made, as_json)


def links(
    order: Annotated[
        Literal["strongest", "newest", "weakest"], typer.Option(help="Which links come first.")
    ] = "strongest",
    top: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """List the links that feedback has made or changed.

    A fact SUPPORTS an episode that it helped or failed; what was used together, or is about what an episode
    lacked, is ASSOCIATED. The weight is the share of success to expect: 0.5 says nothing yet.
    """
    with open_memory(namespace) as memory:
        found = memory.links(order, top=top)
    if as_json:
        print_json({"links": found})
    elif found:
        print_table(("weight", "+", "-", "from", "type", "to", "origin", "updated"), map(_link_row, found))
    else:
        note("no link has been learned yet; give feedback on an episode first")


def explain(
    memory_id: Annotated[str, typer.Argument(metavar="ID", help="The memory's or episode's id.")],
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Tell why a memory is linked, and which feedback did it."""
    with open_memory(namespace) as memory:
        name = memory.get(memory_id).name
        found = memory.explain(memory_id)
    if as_json:
        print_json({"id": memory_id, "name": name, "links": found})
    elif found:
        print_table(("link", "other end", "weight", "+", "-", "because of"), map(_reason_row, found), name)
    else:
        note(f"{memory_id} has no links")


def _print_changed(episode_id: str, changed: "Refinement", as_json: bool) -> None:
    if as_json:
        print_json({"episode": episode_id, "refinement": changed})
        return
    print_pairs(
        {
            "success": changed.success,
            "judged by": changed.by,
            "put down to": ", ".join(changed.blame),
            "linked": _ids(changed.expanded),
            "hidden": _ids(changed.pruned),
            "rewritten": _ids(changed.reshaped),
        }
    )


def _next_round(memory: "FluxMem", episode_id: str, top_k: int, budget: int) -> "tuple[str, Context]":
    # Feedback was accepted, so there is a last step.
    again = memory.episode(episode_id).steps[-1].observation
    return record_step(memory, episode_id, again, top_k=top_k, budget=budget)


def _print_round(
    episode_id: str, changed: "Refinement", made: "tuple[str, Context] | None", as_json: bool
) -> None:
    if as_json:
        step_id, context = made or (None, None)
        shown = context and context_json(context)
        print_json({"episode": episode_id, "refinement": changed, "step": step_id, "context": shown})
        return
    note(_summary(changed))
    if made:
        print_text(made[1].text)
    else:
        note(f"it succeeded, so there is no next round; see `fluxmem episode end {episode_id}`")


def _ids(ids: Sequence[str]) -> str:
    more = f" and {len(ids) - SHOWN} more; --json lists all" if len(ids) > SHOWN else ""
    return ", ".join(ids[:SHOWN]) + more


def _summary(changed: "Refinement") -> str:
    blame = ", ".join(changed.blame) or "nothing"
    return (
        f"success {changed.success:g}, put down to {blame} by {changed.by}: {len(changed.expanded)} linked, "
        f"{len(changed.pruned)} hidden, {len(changed.reshaped)} rewritten"
    )


def _link_row(link: "Link") -> tuple[str, ...]:
    return (
        f"{link.weight:.3f}",
        f"{link.successes:g}",
        f"{link.failures:g}",
        f"{snippet(link.name)}\n{link.id}",
        f"{link.type} (tentative)" if link.tentative else link.type,
        f"{snippet(link.other_name)}\n{link.other_id}",
        link.origin or "",
        f"{link.updated_at:%Y-%m-%d %H:%M:%S}" if link.updated_at else "",
    )


def _reason_row(link: "LinkReason") -> tuple[str, ...]:
    figures = (link.weight, link.successes, link.failures)
    weight, successes, failures = ("" if figure is None else f"{figure:.3g}" for figure in figures)
    arrow = "→" if link.direction == "out" else "←"
    end = f"{snippet(link.name or '')}\n{link.layer} {link.id}"
    return (f"{arrow} {link.type}", end, weight, successes, failures, "\n".join(map(_vote, link.feedback)))


def _vote(vote: "Vote") -> str:
    undone = " (undone)" if vote.undone else ""
    reason = f": {snippet(vote.reason)}" if vote.reason else ""
    at = f"{vote.at:%Y-%m-%d %H:%M:%S}"
    return f"{vote.kind} {vote.seq} +{vote.gain:g} -{vote.loss:g}{undone}, {vote.actor}, {at}{reason}"
