"""Random histories of a namespace: every kind of change, as far as the state allows it."""

from collections.abc import Sequence
from contextlib import suppress

from hypothesis import strategies as st

from fluxmem_graph import FluxMem
from fluxmem_graph.errors import Conflict, NotFound

CONTENTS = (
    "Ada lives in Turin.",
    "Grace wrote to Ada.",
    "Alan broke the Enigma code.",
    "The tea of the house is hot. " * 12 + "The kettle stands in the kitchen.",
)
SOURCES = (None, "notes.md", 'a "quoted" file.md')
KINDS = (
    *("add", "add", "update", "delete", "start", "step", "step", "feedback", "feedback", "end"),
    *("split", "merge", "observe", "undo"),
)

Change = tuple[str, int, int]
changes: st.SearchStrategy[Change] = st.tuples(st.sampled_from(KINDS), st.integers(0, 11), st.integers(0, 5))
histories = st.lists(changes, min_size=1, max_size=8)
# What a short random history seldom reaches: votes, a rewriting, a merge that carries votes on, two sources.
LONG: list[Change] = [
    *(("add", n, n) for n in range(4)),
    *(("start", 0, 0), ("step", 0, 3), ("feedback", 3, 0), ("step", 1, 2), ("feedback", 5, 5), ("end", 0, 1)),
    *(("start", 1, 0), ("step", 0, 1), ("feedback", 2, 5), ("end", 0, 0)),
    *(("merge", 0, 1), ("split", 0, 1), ("update", 0, 2), ("delete", 1, 0), ("add", 1, 2), ("add", 1, 1)),
    *(("observe", 0, 0), ("observe", 1, 0), ("observe", 2, 1)),
]


def play(memory: FluxMem, history: Sequence[Change]) -> None:
    """Make all changes that the state allows."""
    for change in history:
        apply(memory, change)


def apply(memory: FluxMem, change: Change) -> None:
    """Make one change, or none where the state forbids it."""
    # A generated history may object to a fact that no context showed.
    with suppress(Conflict, NotFound):
        _apply(memory, *change)


def _apply(memory: FluxMem, kind: str, pick: int, other: int) -> None:
    content = CONTENTS[pick % len(CONTENTS)]
    if kind == "add":
        memory.add(
            content, source=SOURCES[other % len(SOURCES)], metadata={"n": pick, "at": [1, {"x": None}]}
        )
    elif kind == "observe":
        memory.observe(content, speaker="Ada", mark=other % 2 == 1, external_id=str(pick))
    elif kind in ("update", "delete"):
        facts = memory.match()
        if facts and kind == "update":
            memory.update(
                facts[pick % len(facts)].id, f"{content} Told {other} times.", metadata={"v": other}
            )
        elif facts:
            memory.delete(facts[pick % len(facts)].id)
    elif kind == "undo":
        operations = memory.log(top=6)
        if operations:
            memory.undo(operations[pick % len(operations)].id)
    elif kind == "start":
        memory.start_episode(f"task {pick}", metadata={"n": other})
    else:
        _in_episode(memory, kind, pick, other)


def _in_episode(memory: FluxMem, kind: str, pick: int, other: int) -> None:
    episodes = sorted(memory.episodes(), key=lambda episode: episode.task + episode.id)
    running = [episode.id for episode in episodes if episode.ended_at is None]
    ended = [episode for episode in episodes if episode.ended_at is not None]
    if kind == "split" and ended:
        episode = ended[pick % len(ended)]
        if episode.steps > 1:
            memory.split_episode(episode.id, 1 + other % (episode.steps - 1))
    elif kind == "merge" and len(ended) > 1:
        memory.merge_episodes(ended[pick % len(ended)].id, ended[(pick + 1) % len(ended)].id)
    elif running:
        episode_id = running[pick % len(running)]
        facts = [fact.id for fact in memory.match() if fact.layer == "semantic"]
        if kind == "step":
            memory.step(episode_id, CONTENTS[other % 4], f"act {other}", activated=memory.search("Ada tea"))
        elif kind == "feedback":
            used, coarse = facts[: other % 4], facts[-1:] if pick % 2 else []
            text = "Where is the kettle?" if coarse else CONTENTS[pick % 3]
            memory.feedback(episode_id, other / 5, text, used=used, too_coarse=coarse)
        elif kind == "end":
            memory.end_episode(episode_id, other / 5, "well")
