"""Policies without learning: what people build first, and rules."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import regex

from fluxmem_graph.ingest.words import COMMON_WORDS
from fluxmem_graph.policies.features import COURTESY, Chunk, Scratchpad, cost
from fluxmem_graph.policies.memory import Entry, Store
from fluxmem_graph.retrieval.sparse import content_words, tokenize
from fluxmem_graph.types import AtomicOperation, Create, Delete, NewMemory, Update

BUILT_IN = "1"
"""The version of policies that are code alone; it goes up when their decisions change."""

Score = Callable[[Chunk, Scratchpad, np.random.Generator], float]
"""What a chunk is worth, its place in the stream and its words' counts being known."""

SCORES: dict[str, Score] = {
    "first-come": lambda _, scratchpad, __: -float(scratchpad.seen),
    "random": lambda _, __, generator: float(generator.random()),
    "recency": lambda _, scratchpad, __: float(scratchpad.seen),
    "longest": lambda chunk, _, __: float(cost(chunk.memory)),
    "idf": lambda chunk, scratchpad, _: sum(scratchpad.rarities(chunk.memory)),
}


def room_for(
    store: Store, tokens: int, worth: float, held: Sequence[tuple[float, Entry]]
) -> list[Entry] | None:
    """Return what must go for a chunk, least worth first, or None when that would be the chunk itself."""
    if store.capacity is None:
        return []
    gone: list[Entry] = []
    entries, used = len(store.entries) + 1, store.tokens + tokens
    for value, entry in sorted(held, key=lambda pair: pair[0]):
        if entries <= store.capacity.entries and used <= store.capacity.tokens:
            break
        if value >= worth:
            return None
        gone.append(entry)
        entries, used = entries - 1, used - entry.tokens
    fits = entries <= store.capacity.entries and used <= store.capacity.tokens
    return gone if fits else None


@dataclass(slots=True)
class KeepHighest:
    """Keeps what one score of `SCORES` holds highest; `seed` is that of `random`."""

    name: str
    seed: int = 0
    version: str = BUILT_IN
    _scratchpad: Scratchpad = field(default_factory=Scratchpad)
    _worth: dict[tuple[str, ...], float] = field(default_factory=dict)
    _generator: np.random.Generator = field(default_factory=np.random.default_rng)

    def begin(self, without: Collection[str] = ()) -> None:  # noqa: ARG002 (its store refuses what is missing)
        """Forget the stream before."""
        self._scratchpad, self._worth = Scratchpad(), {}
        self._generator = np.random.default_rng(self.seed)

    def decide(self, chunk: Chunk, store: Store) -> Sequence[AtomicOperation]:
        """Return Deletes and a Create, or nothing."""
        self._scratchpad.take(chunk)
        worth = SCORES[self.name](chunk, self._scratchpad, self._generator)
        self._worth[(chunk.id,)] = worth
        held = [(self._worth.get(entry.sources, 0.0), entry) for entry in store.entries.values()]
        gone = room_for(store, cost(chunk.memory), worth, held)
        if gone is None:
            return []
        return [*(Delete(entry.id, f"least by {self.name}") for entry in gone), Create(chunk.memory)]


@dataclass(slots=True)
class Static:
    """Stores everything; where there is no room, the oldest goes."""

    name: str = "static"
    version: str = BUILT_IN

    def begin(self, without: Collection[str] = ()) -> None:
        """Nothing to forget."""

    def decide(self, chunk: Chunk, store: Store) -> Sequence[AtomicOperation]:
        """Return Deletes of the oldest and a Create."""
        held = [(float(place), entry) for place, entry in enumerate(store.entries.values())]
        gone = room_for(store, cost(chunk.memory), float("inf"), held)
        if gone is None:
            return []
        return [*(Delete(entry.id, "oldest") for entry in gone), Create(chunk.memory, "create all")]


NEAR_DUPLICATE = 0.92
SAME_SUBJECT = 0.75
_NEGATION = regex.compile(r"\b(?:not|no longer|never|stopped|quit|anymore)\b|n't\b", regex.IGNORECASE)
_NUMBER = regex.compile(r"\p{N}+")


@dataclass(slots=True)
class Rules:
    """Skips noise, updates near-duplicates, lets a contradiction supersede; the lowest summed idf goes."""

    name: str = "rules"
    version: str = BUILT_IN
    _scratchpad: Scratchpad = field(default_factory=Scratchpad)
    _worth: dict[str, float] = field(default_factory=dict)
    _without: Collection[str] = ()

    def begin(self, without: Collection[str] = ()) -> None:
        """Forget the stream before."""
        self._scratchpad, self._worth, self._without = Scratchpad(), {}, without

    def decide(self, chunk: Chunk, store: Store) -> Sequence[AtomicOperation]:
        """Return an Update, or Deletes and a Create, or nothing for noise."""
        self._scratchpad.take(chunk)
        if is_noise(chunk):
            return []
        for entry, cosine in store.read(chunk, 1) if "update" not in self._without else ():
            if says_otherwise(entry, chunk, cosine):
                return [Update(entry.id, chunk.memory.content, "contradicts it: supersedes")]
            if cosine >= NEAR_DUPLICATE and entry.memory.speaker == chunk.memory.speaker:
                # Of two texts that say the same, the one that was there first stays unless it says less.
                if len(entry.memory.content) >= len(chunk.memory.content):
                    return []
                return [Update(entry.id, chunk.memory.content, f"near-duplicate: cosine {cosine:.2f}")]
        worth = self._weigh(chunk.memory)
        held = [(self._weigh(entry.memory), entry) for entry in store.entries.values()]
        gone = room_for(store, cost(chunk.memory), worth, held)
        if gone is None:
            return []
        return [*(Delete(entry.id, "least telling words") for entry in gone), Create(chunk.memory, "new")]

    def _weigh(self, memory: NewMemory) -> float:
        if memory.content not in self._worth:
            self._worth[memory.content] = sum(self._scratchpad.rarities(memory))
        return self._worth[memory.content]


def is_noise(chunk: Chunk) -> bool:
    """Tell whether a chunk says nothing: no picture, no number, and only courtesies and common words."""
    said = chunk.memory.content
    return _NUMBER.search(said) is None and set(content_words(said)) <= COURTESY | COMMON_WORDS


def says_otherwise(entry: Entry, chunk: Chunk, cosine: float) -> bool:
    """Tell whether a chunk says otherwise about the same subject.

    It is alike and by the same speaker, and one of the two is negated, or their numbers differ.
    """
    before, now = entry.memory, chunk.memory
    if cosine < SAME_SUBJECT or before.speaker != now.speaker or len(entry.sources) > 1:
        return False
    shared = set(tokenize(before.content)) & set(tokenize(now.content))
    if len(shared) < 2:
        return False
    negated = (_NEGATION.search(before.content) is None) != (_NEGATION.search(now.content) is None)
    numbers = set(_NUMBER.findall(before.content)), set(_NUMBER.findall(now.content))
    return negated or (all(numbers) and numbers[0].isdisjoint(numbers[1]))
