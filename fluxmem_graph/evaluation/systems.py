"""What an evaluation compares: the protocol of a system, and the honest baselines.

The baselines see the texts that the library itself embeds (content after its speaker or title), share its
embedder, and score every document: exact cosine, BM25 over plain lower-case words, and the min-max fusion of
both. They are what people build first; Stage I's stemming and context are no part of them.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from fluxmem_graph.evaluation.datasets import Document
from fluxmem_graph.operations.rows import labelled
from fluxmem_graph.protocols import Embedder, FloatMatrix
from fluxmem_graph.retrieval.sparse import Bm25Index, words

DENSE_WEIGHT = 1.0
SPARSE_WEIGHT = 0.5


@dataclass(frozen=True, slots=True)
class Ranking:
    """Source ids, best first, and the milliseconds spent embedding the query and on all the rest.

    A hit that stands for several sources lists each of them, so it takes several places.
    """

    ids: tuple[str, ...]
    query_ms: float
    embed_ms: float


class System(Protocol):
    """One fresh, empty memory under evaluation."""

    def index(self, documents: Sequence[Document]) -> None:
        """Store the documents, in their order."""

    def search(self, question: str, top_k: int) -> Ranking:
        """Return at least the best `top_k` source ids, or all there are."""

    def close(self) -> None:
        """Erase what was stored; called exactly once, also after an error."""


SystemFactory = Callable[[], System]


class DocumentVectors:
    """Embeds a corpus once for all baselines that share it; questions are always embedded anew."""

    def __init__(self, embedder: Embedder) -> None:
        """Use this embedder for documents and questions."""
        self._embedder = embedder
        self._texts: tuple[str, ...] = ()
        self._matrix: FloatMatrix | None = None

    def documents(self, texts: Sequence[str]) -> FloatMatrix:
        """Return unit rows, shape (len(texts), dimension). Raises EmbeddingError."""
        if self._matrix is None or self._texts != tuple(texts):
            self._texts, self._matrix = tuple(texts), self._embedder.embed(texts)
        return self._matrix

    def question(self, text: str) -> FloatMatrix:
        """Return one unit vector, shape (dimension,). Raises EmbeddingError."""
        vector: FloatMatrix = self._embedder.embed([text])[0]
        return vector


class BaselineSystem:
    """Ranks every document by a weighted sum of min-max scaled cosine and BM25 scores."""

    def __init__(self, vectors: DocumentVectors, dense: float, sparse: float) -> None:
        """Weigh the two signals; one of weight 0 is not computed."""
        self._vectors = vectors
        self._dense, self._sparse = dense, sparse
        self._ids: tuple[str, ...] = ()
        self._matrix = np.zeros((0, 0), np.float32)
        self._bm25 = Bm25Index([])

    def index(self, documents: Sequence[Document]) -> None:
        """Embed and tokenise the documents, in memory."""
        texts = [labelled(document.memory) for document in documents]
        self._ids = tuple(document.id for document in documents)
        if self._dense:
            self._matrix = self._vectors.documents(texts)
        if self._sparse:
            self._bm25 = Bm25Index(texts, words)

    def search(self, question: str, top_k: int) -> Ranking:
        """Rank by exact scores over all documents; ties keep document order."""
        started = time.perf_counter()
        vector = self._vectors.question(question) if self._dense else None
        embedded = time.perf_counter()
        total = np.zeros(len(self._ids))
        if vector is not None:
            total += self._dense * min_max(self._matrix @ vector)
        if self._sparse:
            total += self._sparse * min_max(self._bm25.scores(question))
        best = np.argsort(-total, kind="stable")[:top_k]
        ids = tuple(self._ids[place] for place in best)
        ended = time.perf_counter()
        return Ranking(ids, (ended - embedded) * 1000, (embedded - started) * 1000 if self._dense else 0.0)

    def close(self) -> None:
        """Drop the documents."""
        self._ids, self._matrix, self._bm25 = (), np.zeros((0, 0), np.float32), Bm25Index([])


def min_max(scores: npt.ArrayLike) -> npt.NDArray[np.float64]:
    """Scale scores to 0..1; all-equal scores rank nothing, so they become 0."""
    values = np.asarray(scores, dtype=np.float64)
    spread = np.ptp(values) if values.size else 0.0
    return (values - values.min()) / spread if spread else np.zeros_like(values)


def baseline_factories(embedder: Embedder) -> dict[str, SystemFactory]:
    """Return factories of `dense`, `bm25` and `hybrid`, which share one embedding of each corpus."""
    vectors = DocumentVectors(embedder)
    return {
        "dense": lambda: BaselineSystem(vectors, DENSE_WEIGHT, 0.0),
        "bm25": lambda: BaselineSystem(vectors, 0.0, SPARSE_WEIGHT),
        "hybrid": lambda: BaselineSystem(vectors, DENSE_WEIGHT, SPARSE_WEIGHT),
    }
