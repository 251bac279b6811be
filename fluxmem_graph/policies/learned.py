"""The learned policy: a small network over features of the chunk, its nearest memories and what is held.

It decides step by step whether to read, whether to merge the chunk into a memory, and, where there is no
room, which memory goes: the chunk itself, or one that is held.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxmem_graph.policies.features import CHUNK_FEATURES, Chunk, Scratchpad, chunk_features, cost
from fluxmem_graph.policies.memory import Entry, Store, merged
from fluxmem_graph.types import AtomicOperation, Create, Delete, Update

Array = npt.NDArray[np.float32]

READ_FEATURES = ("read", "nearest", "near on average", "nearest is of this session")
ROW_FEATURES = (*CHUNK_FEATURES, *READ_FEATURES)
TARGET_FEATURES = (
    "likeness",
    "same session",
    "same speaker",
    "steps since",
    "parts",
    "target's value",
    "nothing",
)
HELD_FEATURES = ("age", "parts")
HIDDEN = 12
READ_TOP = 3
LARGEST_ENTRY = 3


def shapes() -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight."""
    rows = len(ROW_FEATURES)
    return {
        "hidden": (rows, HIDDEN),
        "hidden_bias": (HIDDEN,),
        "out": (HIDDEN,),
        "direct": (rows,),
        "held": (len(HELD_FEATURES),),
        "reads": (len(CHUNK_FEATURES) + 1,),
        "merges": (len(CHUNK_FEATURES) + len(TARGET_FEATURES),),
    }


@dataclass(frozen=True, slots=True)
class Network:
    """Weights by name, and the mean and deviation by which chunk features are scaled.

    Weights are NumPy arrays, or tensors of PyTorch while they are trained: the formulas are the same.
    """

    weights: Mapping[str, Any]
    mean: Array
    deviation: Array

    def scaled(self, features: Array) -> Array:
        """Return chunk features in deviations from their mean, cut at 4."""
        return np.asarray(np.clip((features - self.mean) / self.deviation, -4, 4), np.float32)

    def values(self, rows: Any) -> Any:
        """Return the worth of rows, shape (n, len(ROW_FEATURES)) -> (n,)."""
        inner = rows @ self.weights["hidden"] + self.weights["hidden_bias"]
        return rows @ self.weights["direct"] + (inner * (inner > 0)) @ self.weights["out"]


@dataclass(slots=True)
class Trace:
    """Every choice of one run with what it was made on, so that its likelihood can be had again.

    `goes` holds (rows of the candidates, their held features, the place of the one that went).
    """

    rows: list[Array] = field(default_factory=list)
    reads: list[tuple[Array, bool]] = field(default_factory=list)
    merges: list[tuple[Array, bool]] = field(default_factory=list)
    goes: list[tuple[npt.NDArray[np.int64], Array, int]] = field(default_factory=list)


@dataclass(slots=True)
class LearnedPolicy:
    """Takes the likeliest choice, or draws one where `draw` is given; `trace` then records the choices."""

    network: Network
    version: str = "untrained"
    draw: np.random.Generator | None = None
    trace: Trace | None = None
    _scratchpad: Scratchpad | None = None
    _without: Collection[str] = ()
    _rows: list[Array] = field(default_factory=list)
    _values: list[float] = field(default_factory=list)
    _row_of: dict[tuple[str, ...], int] = field(default_factory=dict)
    _held: dict[str, tuple[int, tuple[float, float, float]]] = field(default_factory=dict)
    features: Mapping[str, Array] | None = None

    @property
    def name(self) -> str:
        """Always `learned`."""
        return "learned"

    def begin(self, without: Collection[str] = ()) -> None:
        """Forget the stream before."""
        self._without = without
        self._scratchpad = None if "scratchpad" in without else Scratchpad()
        self._rows, self._values, self._row_of, self._held = [], [], {}, {}

    def decide(self, chunk: Chunk, store: Store) -> Sequence[AtomicOperation]:
        """Return an Update, or Deletes and a Create, or nothing for a chunk that isn't worth its room."""
        seen = self._features(chunk)
        near = self._near(chunk, seen, store)
        row = np.concatenate([seen, _read_features(chunk, near)])
        target = self._target(chunk, near, store)
        if target is not None and self._merges(chunk, seen, target, store):
            operations = self._update(chunk, row, target, store)
            if operations is not None:
                return operations
        place = self._add_row((chunk.id,), row)
        gone = self._make_room(store, place, cost(chunk.memory))
        if gone is None or (gone and "delete" in self._without):
            return []
        return [*(Delete(entry.id, "worth least") for entry in gone), Create(chunk.memory, "worth its room")]

    def _features(self, chunk: Chunk) -> Array:
        if self.features is not None and self._scratchpad is not None:
            return self.features[chunk.id]
        return self.network.scaled(chunk_features(chunk, self._scratchpad))

    def _near(self, chunk: Chunk, seen: Array, store: Store) -> list[tuple[Entry, float]]:
        if not store.entries:
            return []
        given = np.append(seen, np.float32(1))
        reads = self._yes(float(given @ self.network.weights["reads"]))
        if self.trace is not None:
            self.trace.reads.append((given, reads))
        return store.read(chunk, READ_TOP) if reads else []

    def _target(self, chunk: Chunk, near: list[tuple[Entry, float]], store: Store) -> Entry | None:
        """Return the memory that the chunk could be merged into: the nearest, else the last one written."""
        if "update" in self._without:
            return None
        last = store.entries[store.last] if store.last is not None else None
        best = last if last is not None and last.memory.session == chunk.memory.session else None
        if best is None and near:
            best = near[0][0]
        return best if best is not None and len(best.sources) < LARGEST_ENTRY else None

    def _merges(self, chunk: Chunk, seen: Array, target: Entry, store: Store) -> bool:
        place = self._place(target)
        told = [
            float(target.vector @ chunk.vector),
            float(target.memory.session == chunk.memory.session),
            float(target.memory.speaker == chunk.memory.speaker),
            float(np.log1p(store.step - target.written)),
            float(len(target.sources) - 1),
            self._values[place],
            1.0,
        ]
        given = np.concatenate([seen, np.asarray(told, np.float32)])
        merges = self._yes(float(given @ self.network.weights["merges"]))
        if self.trace is not None:
            self.trace.merges.append((given, merges))
        return merges

    def _update(self, chunk: Chunk, row: Array, target: Entry, store: Store) -> list[AtomicOperation] | None:
        content = merged(target.memory, chunk.memory)
        parts = len(target.sources)
        mean = (parts * self._rows[self._place(target)] + row) / (parts + 1)
        place = self._add_row((*target.sources, chunk.id), np.asarray(mean, np.float32))
        extra = cost(replace(target.memory, content=content)) - target.tokens
        gone = self._make_room(store, place, extra, target)
        if gone is None or (gone and "delete" in self._without):
            return []
        return [
            *(Delete(entry.id, "worth least") for entry in gone),
            Update(target.id, content, "goes with it"),
        ]

    def _make_room(
        self, store: Store, place: int, tokens: int, target: Entry | None = None
    ) -> list[Entry] | None:
        """Return what has to go, or None when that is the chunk itself."""
        if store.capacity is None:
            return []
        entries, used, gone = len(store.entries) + (target is None), store.tokens + tokens, []
        if entries <= store.capacity.entries and used <= store.capacity.tokens:
            return []
        held = [entry for entry in store.entries.values() if entry is not target]
        rows, told = self._candidates(held, place, store.step)
        while entries > store.capacity.entries or used > store.capacity.tokens:
            going = self._goes(rows, told)
            if going == len(rows) - 1:
                return None
            gone.append(held.pop(going))
            entries, used = entries - 1, used - gone[-1].tokens
            rows, told = np.delete(rows, going), np.delete(told, going, axis=0)
        return gone

    def _candidates(self, held: list[Entry], place: int, step: int) -> tuple[npt.NDArray[np.int64], Array]:
        """Return the row and the held features of all that may go, the chunk itself last."""
        known = [self._known(entry) for entry in held]
        table = np.asarray([*known, (place, step, 0.0)])
        told = np.stack([np.log1p(step - table[:, 1]), table[:, 2]], axis=1)
        return table[:, 0].astype(np.int64), told.astype(np.float32)

    def _known(self, entry: Entry) -> tuple[float, float, float]:
        found = self._held.get(entry.id)
        if found is None or found[0] != entry.written:
            found = entry.written, (self._place(entry), entry.written, len(entry.sources) - 1.0)
            self._held[entry.id] = found
        return found[1]

    def _goes(self, rows: npt.NDArray[np.int64], told: Array) -> int:
        worth = np.asarray([self._values[row] for row in rows.tolist()]) + told @ self.network.weights["held"]
        if self.draw is None:
            return int(np.argmin(worth))
        # Gumbel noise on the logits draws from their softmax.
        going = int(np.argmax(self.draw.gumbel(size=len(worth)) - worth))
        if self.trace is not None:
            self.trace.goes.append((rows, told, going))
        return going

    def _yes(self, logit: float) -> bool:
        if self.draw is None:
            return logit > 0
        return bool(self.draw.random() < 1 / (1 + np.exp(-logit)))

    def _add_row(self, sources: tuple[str, ...], row: Array) -> int:
        self._rows.append(row)
        self._values.append(float(self.network.values(row[None, :])[0]))
        if self.trace is not None:
            self.trace.rows.append(row)
        self._row_of[sources] = len(self._rows) - 1
        return len(self._rows) - 1

    def _place(self, entry: Entry) -> int:
        if entry.sources not in self._row_of:
            # Written by someone else: known by its own text alone.
            alone = chunk_features(Chunk(entry.id, entry.memory, entry.vector), None)
            unread = np.zeros(len(READ_FEATURES), np.float32)
            self._add_row(entry.sources, np.concatenate([self.network.scaled(alone), unread]))
        return self._row_of[entry.sources]


def _read_features(chunk: Chunk, near: list[tuple[Entry, float]]) -> Array:
    if not near:
        return np.zeros(len(READ_FEATURES), np.float32)
    cosines = [cosine for _, cosine in near]
    same = near[0][0].memory.session == chunk.memory.session
    return np.asarray([1.0, cosines[0], sum(cosines) / len(cosines), float(same)], np.float32)
