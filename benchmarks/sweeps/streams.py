"""Where a stream is cut: precision, recall and F1 of its boundaries against sessions of real conversations.

    python benchmarks/sweeps/streams.py PATH [--embedder all-MiniLM-L6-v2] [--seed 0]

PATH is a folder of conversations, each with `turns.jsonl` and `questions.jsonl`. Prints JSON. `idle`: by
times alone. `topic`: by texts alone, in two streams: `same` are the conversations as they are, where the same
two people go on about their lives; `mixed` are their sessions shuffled, so that other people talk about other
things after each. `evenly`: by neither. A boundary counts only at the very message. The decision is the
library's own; the rule `mean` gives it the mean of the cosines, `nearest` the greatest, as the library does.
"""

import argparse
import json
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import groupby, product
from pathlib import Path
from typing import Any

import numpy as np

from fluxmem_graph import NewMemory, load_settings
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.evaluation.datasets import load_retrieval_sets
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.operations.embedded import embed_memories
from fluxmem_graph.protocols import Embedder, FloatMatrix
from fluxmem_graph.settings import StreamSettings
from fluxmem_graph.stages.streams import Position, find_boundary

NO_TIME = datetime(2000, 1, 1, tzinfo=UTC)
IDLE_MINUTES = (1, 30, 60, 360, 1440, 10080, 20160)
SIMILARITIES = (0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.55)
WINDOWS = (2, 4, 6, 8)
SHORTEST = (4, 6, 8)
RULES: dict[str, Callable[[FloatMatrix], tuple[float, ...]]] = {
    "nearest": lambda cosines: (float(cosines.max()),),
    "mean": lambda cosines: (float(cosines.mean()),),
}


@dataclass(frozen=True, slots=True)
class Session:
    """What was said in one sitting: vectors of shape (messages, dimension), and when."""

    conversation: str
    vectors: FloatMatrix
    times: Sequence[datetime]


@dataclass(frozen=True, slots=True)
class Stream:
    """Sessions one after another; `starts` holds the true boundaries, without the first message."""

    vectors: FloatMatrix
    times: Sequence[datetime]
    starts: frozenset[int]


def read_sessions(path: Path, embedder: Embedder) -> list[Session]:
    """Return the sessions of all conversations in order."""
    found = []
    for conversation in load_retrieval_sets(path):
        memories = [document.memory for document in conversation.documents]
        matrix, start = embed_memories(embedder, memories), 0
        for _, group in groupby(memories, key=lambda memory: memory.session):
            turns = list(group)
            end = start + len(turns)
            found.append(Session(conversation.name, matrix[start:end], _times(turns)))
            start = end
    return found


def _times(turns: Sequence[NewMemory]) -> list[datetime]:
    return [turn.occurred_at or NO_TIME for turn in turns]


def join(sessions: Sequence[Session]) -> Stream:
    """Return the sessions as one stream."""
    starts = np.cumsum([len(session.vectors) for session in sessions])[:-1]
    vectors = np.concatenate([session.vectors for session in sessions])
    times = [time for session in sessions for time in session.times]
    return Stream(vectors, times, frozenset(starts.tolist()))


def shuffled(sessions: Sequence[Session], seed: int) -> list[Session]:
    """Return the sessions so that two of one conversation follow each other only when no other is left."""
    left = random.Random(seed).sample(sessions, len(sessions))
    mixed: list[Session] = []
    while left:
        last = mixed[-1].conversation if mixed else None
        mixed.append(next((session for session in left if session.conversation != last), left[0]))
        left.remove(mixed[-1])
    return mixed


def cut(stream: Stream, rule: str, settings: StreamSettings, *, timed: bool) -> Iterator[int]:
    """Yield the messages that open an episode, without the first."""
    start = 0
    for place in range(1, len(stream.vectors)):
        recent = stream.vectors[max(start, place - settings.window) : place]
        last, now = (stream.times[place - 1], stream.times[place]) if timed else (NO_TIME, NO_TIME)
        position = Position("open", place - start, last, RULES[rule](recent @ stream.vectors[place]))
        if find_boundary(position, now, False, settings):
            start = place
            yield place


def score(streams: Sequence[Stream], cuts: Callable[[Stream], Iterator[int]]) -> dict[str, float]:
    """Return precision, recall and F1 over all boundaries of the streams."""
    found = [(frozenset(cuts(stream)), stream.starts) for stream in streams]
    right = sum(len(ours & true) for ours, true in found)
    ours, true = sum(len(ours) for ours, _ in found), sum(len(true) for _, true in found)
    shares = {"precision": right / max(ours, 1), "recall": right / true, "f1": 2 * right / (ours + true)}
    return {name: round(share, 3) for name, share in shares.items()}


def sweep_idle(streams: Sequence[Stream]) -> list[dict[str, Any]]:
    """Return the scores by times alone."""
    rows = []
    for minutes in IDLE_MINUTES:
        settings = StreamSettings(idle_minutes=minutes, similarity=-1)
        found = score(streams, partial(cut, rule="nearest", settings=settings, timed=True))
        rows.append({"idle_minutes": minutes, **found})
    return rows


def sweep_topic(streams: Sequence[Stream]) -> list[dict[str, Any]]:
    """Return the scores by texts alone, best first."""
    rows = []
    for rule, window, shortest, similarity in product(RULES, WINDOWS, SHORTEST, SIMILARITIES):
        settings = StreamSettings(window=window, shortest=shortest, similarity=similarity)
        found = score(streams, partial(cut, rule=rule, settings=settings, timed=False))
        rows.append({"rule": rule, **settings.model_dump(exclude={"idle_minutes"}), **found})
    return sorted(rows, key=lambda row: -row["f1"])


def evenly(stream: Stream) -> Iterator[int]:
    """Yield a boundary after each so many messages, as many as there are true ones."""
    step = len(stream.vectors) // (len(stream.starts) + 1)
    return iter(range(step, len(stream.vectors), step))


def main() -> None:
    """Sweep and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("path", type=Path)
    parser.add_argument("--embedder", default="all-MiniLM-L6-v2")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    embedder = load_embedder(load_settings(embedder=options.embedder))
    sessions = read_sessions(options.path, embedder)
    same = [join(list(group)) for _, group in groupby(sessions, key=lambda session: session.conversation)]
    streams = {"same": same, "mixed": [join(shuffled(sessions, options.seed))]}
    result = {
        "defaults": StreamSettings().model_dump(),
        "idle": sweep_idle(same),
        "topic": {name: sweep_topic(found) for name, found in streams.items()},
        "evenly": {name: score(found, evenly) for name, found in streams.items()},
        "embedder": embedder.name,
        "environment": environment(options.seed),
    }
    print(json.dumps(result, indent=2))


if __name__ == "__main__":
    main()
