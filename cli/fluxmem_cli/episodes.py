"""Commands about one run of a task, for agents that have no Python: start, step, end, show."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from fluxmem_cli.connecting import open_memory
from fluxmem_cli.options import JsonOption, MetaOption, NamespaceOption, TopKOption, read_pairs, read_text
from fluxmem_cli.output import (
    note_quarantined,
    print_json,
    print_pairs,
    print_table,
    print_text,
    snippet,
    to_plain,
)

if TYPE_CHECKING:
    from fluxmem_graph.client import FluxMem
    from fluxmem_graph.retrieval.context import Context

EpisodeArgument = Annotated[str, typer.Argument(metavar="EPISODE", help="The episode's id.")]
BudgetOption = Annotated[int, typer.Option(min=1, help="Most tokens of the context, an estimate.")]


def start(
    task: Annotated[str, typer.Argument(help="What the agent is to do; `-` reads standard input.")],
    meta: MetaOption = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Open an episode and print its id.

    One run of a task from the shell: `episode start TASK`; `episode step EPISODE OBSERVATION` prints the
    context for a step; after it `refine EPISODE --text CORRECTION` prints a better one if it failed, or
    `feedback EPISODE --success 1` says that it went well; at last `episode end EPISODE --success 1`.
    """
    metadata = read_pairs(meta, "--meta")
    text = read_text(task)
    with open_memory(namespace) as memory:
        episode_id = memory.start_episode(text, metadata=metadata)
    print_json({"episode": episode_id}) if as_json else print(episode_id)


def step(
    episode_id: EpisodeArgument,
    observation: Annotated[str, typer.Argument(help="What the agent sees; `-` reads standard input.")],
    action: Annotated[str, typer.Option(help="What the agent does about it, if that is known.")] = "",
    top_k: TopKOption = 10,
    budget: BudgetOption = 2000,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Print the context for a step and record what it held.

    What earlier failures of the episode said is searched for too, and what they hid stays out. The ids in the
    context are those that `feedback` takes.
    """
    text = read_text(observation)
    with open_memory(namespace) as memory:
        step_id, made = record_step(memory, episode_id, text, action, top_k=top_k, budget=budget)
    if as_json:
        print_json({"episode": episode_id, "step": step_id, "context": context_json(made)})
    else:
        print_text(made.text)


def record_step(
    memory: "FluxMem", episode_id: str, observation: str, action: str = "", *, top_k: int, budget: int
) -> tuple[str, "Context"]:
    """Activate within an episode, and record the step with what its context held; return both."""
    made = memory.context(observation, top_k=top_k, budget=budget, episode_id=episode_id)
    return memory.step(episode_id, observation, action, activated=made.hits), made


def context_json(made: "Context") -> dict[str, Any]:
    """Return a context as JSON has it: its text, the ids in it and its tokens."""
    return {"text": made.text, "cited": made.cited, "tokens": made.tokens}


def end(
    episode_id: EpisodeArgument,
    success: Annotated[
        float | None, typer.Option(min=0, max=1, help="How the whole run went, 0 to 1.")
    ] = None,
    outcome: Annotated[str | None, typer.Option(help="What came out of it.")] = None,
    namespace: NamespaceOption = None,
    as_json: JsonOption = False,
) -> None:
    """Close an episode.

    From now on similar observations are reminded of it.
    """
    with open_memory(namespace) as memory:
        memory.end_episode(episode_id, success, outcome)
        status = memory.get(episode_id).status
    if status == "quarantined":
        note_quarantined()
    if as_json:
        print_json({"episode": episode_id, "ended": True})
    else:
        print_text(f"{episode_id} has ended")


def show(episode_id: EpisodeArgument, namespace: NamespaceOption = None, as_json: JsonOption = False) -> None:
    """Print an episode with its steps.

    Its status is candidate while it runs and active once it has ended.
    """
    with open_memory(namespace) as memory:
        found = memory.episode(episode_id)
        status = memory.get(episode_id).status
    shown = {"id": episode_id, "status": status, **to_plain(found)}
    if as_json:
        print_json(shown)
        return
    print_pairs({name: value for name, value in shown.items() if name != "steps"})
    rows = [
        (str(index), snippet(step.observation), snippet(step.action), snippet(step.feedback or ""))
        for index, step in enumerate(found.steps)
    ]
    print_table(("step", "observation", "action", "feedback"), rows)
