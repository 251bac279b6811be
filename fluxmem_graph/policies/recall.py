"""The questions at the end of a stream: what share of their evidence memory brings back in the first places.

The score of Stage I over a store in memory, for many questions at once: the same signals, scaling, weights
and inheritance as `retrieval.fusion` and `retrieval.inheritance`, without links of a graph.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from fluxmem_graph.ingest.entities import entity_key, title_candidates, title_names
from fluxmem_graph.operations.rows import searched
from fluxmem_graph.policies.features import Vector
from fluxmem_graph.policies.memory import Entry
from fluxmem_graph.policies.reading import is_exact
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.retrieval.fusion import LENGTH, without_speakers
from fluxmem_graph.retrieval.sparse import K1, tokenize, words
from fluxmem_graph.settings import RetrievalSettings
from fluxmem_graph.types import NewMemory

TOP_K = 10
Matrix = npt.NDArray[np.float32]
Reader = Callable[[str, Sequence[str]], str]
"""From a question and the texts that memory brought back, best first, to an answer."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A question with its unit vector, the ids of the chunks that answer it, and its answer if known."""

    text: str
    vector: Vector
    evidence: frozenset[str]
    answer: str = ""


@dataclass(slots=True)
class Exam:
    """Questions about one stream, whose chunks' memories are `texts` by id.

    With a reader the reward is the share of its answers that match exactly, in place of recall@10.
    """

    questions: Sequence[Asked]
    texts: Mapping[str, NewMemory]
    weights: RetrievalSettings = field(default_factory=RetrievalSettings)
    reader: Reader | None = None
    _terms: dict[str, int] = field(default_factory=dict)
    _wanted: Matrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    _vectors: FloatMatrix = field(default_factory=lambda: np.zeros((0, 0), np.float32))
    _named: Sequence[frozenset[str]] = ()
    _words: Sequence[frozenset[str]] = ()
    _columns: dict[str, tuple[Matrix, int]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Index the questions once: stores come and go."""
        speakers = {memory.speaker for memory in self.texts.values() if memory.speaker}
        counts = [Counter(tokenize(without_speakers(asked.text, speakers))) for asked in self.questions]
        self._terms = {term: place for place, term in enumerate(dict.fromkeys(t for c in counts for t in c))}
        self._wanted = np.zeros((len(counts), len(self._terms)), np.float32)
        for row, found in enumerate(counts):
            for term, count in found.items():
                self._wanted[row, self._terms[term]] = count
        self._vectors = np.stack([asked.vector for asked in self.questions])
        self._named = [frozenset(title_candidates(asked.text)) for asked in self.questions]
        self._words = [frozenset(words(asked.text)) for asked in self.questions]

    def recall(self, entries: Sequence[Entry], top_k: int = TOP_K) -> float:
        """Return the mean share of the questions' evidence in the first `top_k` places, 0..1.

        An entry takes as many places as its sources, and covers one only while it contains its text.
        """
        if not entries:
            return 0.0
        covered = [self._covered(entry) for entry in entries]
        total = 0.0
        for asked, places in zip(self.questions, self._taken(entries, top_k), strict=True):
            taken = [source for place in places for source in covered[place]][:top_k]
            total += len(asked.evidence.intersection(taken)) / len(asked.evidence)
        return total / len(self.questions)

    def exact_match(self, entries: Sequence[Entry], top_k: int = TOP_K) -> float | None:
        """Return the share, 0..1, of the known answers that the reader gives from the first `top_k` places.

        None without a reader; what the reader raises is raised.
        """
        if self.reader is None:
            return None
        shown = [searched(entry.memory) for entry in entries]
        right = []
        for asked, places in zip(self.questions, self._taken(entries, top_k), strict=True):
            if asked.answer:
                answer = self.reader(asked.text, [shown[place] for place in places])
                right.append(is_exact(answer, asked.answer))
        return sum(right) / max(len(right), 1)

    def reward(self, entries: Sequence[Entry]) -> float:
        """Return what a run earns, 0..1: exact match where there is a reader, else recall@10."""
        matched = self.exact_match(entries)
        return self.recall(entries) if matched is None else matched

    def _taken(self, entries: Sequence[Entry], top_k: int) -> Iterator[list[int]]:
        """Yield for each question the entries that take the first places, best first."""
        if not entries:
            yield from ([] for _ in self.questions)
            return
        sizes = [len(entry.sources) for entry in entries]
        order = np.argsort(-self.scores(entries), axis=1, kind="stable")[:, :top_k]
        for ranking in order.tolist():
            taken, room = [], top_k
            for place in ranking:
                if room <= 0:
                    break
                taken.append(place)
                room -= sizes[place]
            yield taken

    def scores(self, entries: Sequence[Entry]) -> Matrix:
        """Return the score of every entry for every question, shape (questions, entries)."""
        sparse = _scaled(self._sparse(entries))
        dense = _scaled(self._vectors @ np.stack([entry.vector for entry in entries]).T)
        total = np.zeros((len(self.questions), len(entries)), np.float32)
        whole = np.zeros((len(self.questions), 1), np.float32)
        for weight, (values, tells) in ((self.weights.dense, dense), (self.weights.sparse, sparse)):
            total += weight * values
            whole += weight * tells
        own = np.where(whole > 0, total / np.maximum(whole, 1e-9), 1.0)
        return np.asarray(own + self._inherited(own, entries), np.float32)

    def _covered(self, entry: Entry) -> list[str]:
        kept = (
            source in self.texts and self.texts[source].content in entry.memory.content
            for source in entry.sources
        )
        return [source if covers else "" for source, covers in zip(entry.sources, kept, strict=True)]

    def _sparse(self, entries: Sequence[Entry]) -> Matrix:
        found = [self._column(searched(entry.memory)) for entry in entries]
        counts = np.stack([column for column, _ in found], axis=1)
        lengths = np.asarray([length for _, length in found], np.float32)
        holding = (counts > 0).sum(axis=1)
        idf = np.log1p((len(entries) - holding + 0.5) / (holding + 0.5))
        norm = K1 * (1 - LENGTH + LENGTH * lengths / max(float(lengths.mean()), 1e-9))
        gains = idf[:, None] * counts * (K1 + 1) / np.maximum(counts + norm, 1e-9)
        return np.asarray(self._wanted @ gains.astype(np.float32), np.float32)

    def _column(self, text: str) -> tuple[Matrix, int]:
        if text not in self._columns:
            tokens = tokenize(text)
            column = np.zeros(len(self._terms), np.float32)
            for term in tokens:
                if term in self._terms:
                    column[self._terms[term]] += 1
            self._columns[text] = (column, len(tokens))
        return self._columns[text]

    def _inherited(self, own: Matrix, entries: Sequence[Entry]) -> Matrix:
        names = sorted({entry.memory.speaker for entry in entries if entry.memory.speaker})
        meant = np.asarray([[found.issuperset(words(name)) for name in names] for found in self._words])
        spoken = np.asarray([[entry.memory.speaker == name for entry in entries] for name in names])
        gains = np.zeros_like(own)
        if names:
            gains += self.weights.speaker * (meant.astype(np.float32) @ spoken.astype(np.float32))
        titles = [{entity_key(name) for name in title_names(entry.memory.title)} for entry in entries]
        if any(titles):
            named = [[bool(names & found) for names in titles] for found in self._named]
            gains += self.weights.named * np.asarray(named, np.float32)
        return gains + self._near(own, entries)

    def _near(self, own: Matrix, entries: Sequence[Entry]) -> Matrix:
        """Return what entries of one session pass on: to the two beside them, and from the best to all."""
        gains = np.zeros_like(own)
        sessions: dict[str, list[int]] = {}
        for place, entry in enumerate(entries):
            if entry.memory.session:
                sessions.setdefault(entry.memory.session, []).append(place)
        for places in sessions.values():
            inside = own[:, places]
            added = self.weights.session * inside.max(axis=1, keepdims=True) + np.zeros_like(inside)
            for distance, share in ((1, 1.0), (2, 0.5)):
                if len(places) > distance:
                    near = np.zeros_like(inside)
                    near[:, distance:] = inside[:, :-distance]
                    near[:, :-distance] = np.maximum(near[:, :-distance], inside[:, distance:])
                    added += self.weights.neighbour * share * near
            gains[:, places] = added
        return gains


def _scaled(values: Matrix) -> tuple[Matrix, Matrix]:
    """Return the rows scaled to 0..1, and per row whether it tells anything apart."""
    lowest = values.min(axis=1, keepdims=True)
    width = values.max(axis=1, keepdims=True) - lowest
    tells = width > 0
    return np.where(tells, (values - lowest) / np.where(tells, width, 1), 0), tells.astype(np.float32)
