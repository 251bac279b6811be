"""Memory within one task: a store under a capacity, to which operations are applied in order."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import numpy as np

from fluxmem_graph.policies.features import Chunk, Vector, cost
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.types import (
    Applied,
    AtomicOperation,
    Create,
    Delete,
    Hit,
    Layer,
    NewMemory,
    Note,
    Read,
    Signals,
    Update,
    kind_of,
)

PARTS = ("update", "delete", "scratchpad", "store")


@dataclass(frozen=True, slots=True)
class Capacity:
    """The most that a store may hold; both bounds count."""

    entries: int
    tokens: int

    @classmethod
    def share(cls, chunks: Sequence[Chunk], share: float) -> "Capacity":
        """Return a share (0..1) of the number of chunks and of their tokens, at least one of each."""
        tokens = sum(cost(chunk.memory) for chunk in chunks)
        return cls(max(1, int(share * len(chunks))), max(1, int(share * tokens)))


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory of the store.

    `sources` are the chunks that it was made of, in order; `written` is the step of its last change,
    `tokens` its cost.
    """

    id: str
    memory: NewMemory
    vector: Vector
    sources: tuple[str, ...]
    written: int
    tokens: int


class Store(Protocol):
    """What a policy may look at before it decides."""

    @property
    def capacity(self) -> Capacity | None:
        """The bounds, if any."""

    @property
    def entries(self) -> Mapping[str, Entry]:
        """What is held, by id, oldest first."""

    @property
    def step(self) -> int:
        """How many chunks came before this one."""

    @property
    def tokens(self) -> int:
        """What is held costs this much."""

    @property
    def last(self) -> str | None:
        """The id of the entry written last, if it is still held: it goes with the scratchpad."""

    @property
    def scratchpad(self) -> str:
        """What a policy noted for itself."""

    def read(self, chunk: Chunk, top_k: int) -> list[tuple[Entry, float]]:
        """Return the entries nearest to a chunk with their cosines, best first; this is an operation."""


def no_room(store: Store, tokens: int, entries: int) -> str:
    """Say why a store can't hold so many tokens and entries more; nothing when it can."""
    if store.capacity is None:
        return ""
    if len(store.entries) + entries > store.capacity.entries:
        return f"no room: {store.capacity.entries} entries are held"
    if store.tokens + tokens > store.capacity.tokens:
        return f"no room: {store.tokens} of {store.capacity.tokens} tokens are held, {tokens} more needed"
    return ""


@dataclass(slots=True)
class VectorTable:
    """Vectors by name in one matrix, so that the nearest of many small changing sets are found fast."""

    _rows: dict[str, int] = field(default_factory=dict)
    _names: list[str] = field(default_factory=list)
    _matrix: FloatMatrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))

    def put(self, name: str, vector: Vector) -> None:
        """Add or replace one."""
        row = self._rows.setdefault(name, len(self._names))
        if row == len(self._names):
            self._names.append(name)
        if row >= len(self._matrix):
            grown = np.zeros((max(64, 2 * len(self._matrix)), len(vector)), np.float32)
            if row:
                grown[:row] = self._matrix
            self._matrix = grown
        self._matrix[row] = vector

    def remove(self, name: str) -> None:
        """Drop one; the last takes its row."""
        row, last = self._rows.pop(name), self._names.pop()
        if last != name:
            self._rows[last], self._names[row] = row, last
            self._matrix[row] = self._matrix[len(self._names)]

    def nearest(self, vector: Vector, top_k: int) -> list[tuple[str, float]]:
        """Return names and products, highest first."""
        if not self._names:
            return []
        products = self._matrix[: len(self._names)] @ vector
        best = np.argsort(-products, kind="stable")[:top_k]
        return [(self._names[row], float(products[row])) for row in best]


def merged(memory: NewMemory, other: NewMemory) -> str:
    """Return the text of a memory with another's after it, the speaker named where it is not the same."""
    label = f"{other.speaker}: " if other.speaker and other.speaker != memory.speaker else ""
    return f"{memory.content}\n{label}{other.content}"


@dataclass(slots=True)
class TaskMemory:
    """A store in memory. `without` names parts that are missing: update, delete, scratchpad, store."""

    capacity: Capacity | None
    without: Collection[str] = ()
    entries: dict[str, Entry] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    scratchpad: str = ""
    step: int = 0
    tokens: int = 0
    _last: str | None = None
    _made: int = 0
    _vectors: VectorTable = field(default_factory=VectorTable)

    @property
    def last(self) -> str | None:
        """The id of the entry written last, if it is still held."""
        return self._last if self._last in self.entries and "scratchpad" not in self.without else None

    def read(self, chunk: Chunk, top_k: int) -> list[tuple[Entry, float]]:
        """Return the entries nearest to a chunk, and count a Read."""
        self.counts["read"] += 1
        return self.nearest(chunk.vector, top_k)

    def nearest(self, vector: Vector, top_k: int) -> list[tuple[Entry, float]]:
        """Return the entries nearest to a vector, best first; no operation is counted."""
        return [(self.entries[name], cosine) for name, cosine in self._vectors.nearest(vector, top_k)]

    def apply(self, operations: Sequence[AtomicOperation], chunk: Chunk) -> list[Applied]:
        """Apply what a policy decided about a chunk, in order, and go on to the next chunk.

        An operation that can't be done leaves the store as it is, and says why.
        """
        outcomes = [self.perform(operation, chunk) for operation in operations]
        self.step += 1
        return outcomes

    def perform(self, operation: AtomicOperation, chunk: Chunk) -> Applied:
        """Apply one operation about a chunk, and stay at it."""
        match operation:
            case Create():
                outcome = self._create(operation, chunk)
            case Update():
                outcome = self._update(operation, chunk)
            case Delete():
                outcome = self._delete(operation)
            case Read():
                outcome = self._read(operation, chunk)
            case Note():
                outcome = self._note(operation)
        self.counts[kind_of(operation) if outcome.done else "failed"] += 1
        return outcome

    def _create(self, operation: Create, chunk: Chunk) -> Applied:
        tokens = cost(operation.memory)
        problem = "there is no store" if "store" in self.without else no_room(self, tokens, 1)
        if problem:
            return Applied(operation, problem=problem)
        self._made += 1
        made = f"m{self._made}"
        vector = self._vector(operation.memory.content, chunk, [])
        self._put(Entry(made, operation.memory, vector, (chunk.id,), self.step, tokens))
        return Applied(operation, made)

    def _update(self, operation: Update, chunk: Chunk) -> Applied:
        former = self.entries.get(operation.id)
        if former is None or "update" in self.without:
            problem = f"there is no memory {operation.id}" if former is None else "there is no update"
            return Applied(operation, operation.id, problem=problem)
        memory = replace(former.memory, content=operation.content)
        tokens = cost(memory)
        if problem := no_room(self, tokens - former.tokens, 0):
            return Applied(operation, operation.id, problem=problem)
        sources = former.sources if chunk.id in former.sources else (*former.sources, chunk.id)
        vector = self._vector(operation.content, chunk, [former])
        self.tokens -= former.tokens
        self._put(Entry(former.id, memory, vector, sources, self.step, tokens))
        return Applied(operation, former.id)

    def _delete(self, operation: Delete) -> Applied:
        if operation.id not in self.entries or "delete" in self.without:
            missing = operation.id not in self.entries
            problem = f"there is no memory {operation.id}" if missing else "there is no delete"
            return Applied(operation, operation.id, problem=problem)
        self.tokens -= self.entries.pop(operation.id).tokens
        self._vectors.remove(operation.id)
        return Applied(operation, operation.id)

    def _read(self, operation: Read, chunk: Chunk) -> Applied:
        vector = self._vector(operation.query, chunk, [])
        hits = tuple(
            Hit(entry.id, Layer.SEMANTIC, entry.memory.content, cosine, Signals(dense=cosine))
            for entry, cosine in self.nearest(vector, operation.top_k)
        )
        return Applied(operation, hits=hits)

    def _note(self, operation: Note) -> Applied:
        if "scratchpad" in self.without:
            return Applied(operation, problem="there is no scratchpad")
        self.scratchpad = operation.text
        return Applied(operation)

    def _put(self, entry: Entry) -> None:
        self.entries[entry.id] = entry
        self._vectors.put(entry.id, entry.vector)
        self.tokens += entry.tokens
        self._last = entry.id

    def _vector(self, text: str, chunk: Chunk, former: Sequence[Entry]) -> Vector:
        if text == chunk.memory.content:
            return chunk.vector
        if former and text == merged(former[0].memory, chunk.memory):
            # As long texts are embedded: the mean of their parts.
            mean = len(former[0].sources) * former[0].vector + chunk.vector
            return np.asarray(mean / max(float(np.linalg.norm(mean)), 1e-9), np.float32)
        return former[0].vector if former else chunk.vector
