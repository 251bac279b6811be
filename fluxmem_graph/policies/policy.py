"""The protocol of a policy, and a run of one over a stream."""

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol

from fluxmem_graph.errors import LLMError
from fluxmem_graph.policies.features import Chunk
from fluxmem_graph.policies.memory import Capacity, Entry, Store, TaskMemory
from fluxmem_graph.policies.recall import Exam
from fluxmem_graph.types import AtomicOperation


class Policy(Protocol):
    """Decides what becomes of each chunk of a stream."""

    @property
    def name(self) -> str:
        """Such as `rules`; recorded in the log."""

    @property
    def version(self) -> str:
        """Changes when its decisions may change; recorded in the log."""

    def begin(self, without: Collection[str] = ()) -> None:
        """Start a new stream, with parts missing (`policies.memory.PARTS`)."""

    def decide(self, chunk: Chunk, store: Store) -> Sequence[AtomicOperation]:
        """Return the operations for the next chunk, in order. Raises LLMError where a model decides."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Chunks in order, and the questions at the end."""

    name: str
    chunks: tuple[Chunk, ...]
    exam: Exam


@dataclass(frozen=True, slots=True)
class Run:
    """The end of a stream: recall@10 (0..1), how often each operation was done, and what is held.

    `exact_match` (0..1) is there where the exam has a reader.
    """

    recall: float
    counts: Counter[str]
    entries: tuple[Entry, ...]
    exact_match: float | None = None

    @property
    def reward(self) -> float:
        """What the run earned, 0..1, as `Exam.reward` has it."""
        return self.recall if self.exact_match is None else self.exact_match


def run_policy(policy: Policy, stream: Stream, capacity: Capacity, without: Collection[str] = ()) -> Run:
    """Let a policy keep a stream under a capacity, and examine it at the end.

    A failure of a model skips its chunk and is counted.
    """
    memory = TaskMemory(capacity, without=without)
    policy.begin(without)
    for chunk in stream.chunks:
        try:
            decided = policy.decide(chunk, memory)
        except LLMError:
            decided = []
            memory.counts["failed"] += 1
        memory.apply(decided, chunk)
    held = tuple(memory.entries.values())
    return Run(stream.exam.recall(held), memory.counts, held, stream.exam.exact_match(held))
