"""Stage I's score: dense, sparse and verified signals, scaled over the candidates and added (section 3.1)."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fluxmem_graph.retrieval.sparse import Bm25Index, words
from fluxmem_graph.settings import RetrievalSettings

Scores = npt.NDArray[np.float64]

# Candidates were picked for their words already: their lengths say less than in a whole corpus.
LENGTH = 0.3


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that may be meant; `cosine` is None without vectors, context and speaker are empty if absent."""

    id: str
    cosine: float | None
    text: str
    context: str
    speaker: str


@dataclass(frozen=True, slots=True)
class Seed:
    """A candidate's score and signals, each signal in 0..1 or None when absent."""

    id: str
    score: float
    dense: float | None
    sparse: float | None
    verified: float | None


def score(
    query: str,
    candidates: Sequence[Candidate],
    weights: RetrievalSettings,
    verified: Mapping[str, float] | None = None,
) -> list[Seed]:
    """Return a seed per candidate, in their order.

    The score is the weighted mean of the signals that tell candidates apart; `verified` maps ids to 0..1.
    """
    if not candidates:
        return []
    signals = {
        "dense": scaled([c.cosine for c in candidates]),
        "sparse": scaled(list(sparse_scores(query, candidates, weights.context))),
        "verified": None if verified is None else scaled([verified.get(c.id, 0.0) for c in candidates]),
    }
    total = _weighted_mean(signals, weights, len(candidates))
    columns = [_column(signals[name], len(candidates)) for name in ("dense", "sparse", "verified")]
    return [
        Seed(candidate.id, float(total[place]), *(column[place] for column in columns))
        for place, candidate in enumerate(candidates)
    ]


def scaled(values: Sequence[float | None]) -> Scores | None:
    """Scale to 0..1; a missing value is 0, and None is returned when all are equal: they rank nothing."""
    known = np.asarray([value for value in values if value is not None], dtype=np.float64)
    width = float(np.ptp(known)) if known.size else 0.0
    if width == 0:
        return None
    lowest = float(known.min())
    return np.asarray([0.0 if value is None else (value - lowest) / width for value in values])


def sparse_scores(query: str, candidates: Sequence[Candidate], context_weight: float) -> Scores:
    """Return BM25 over the candidates' own texts, plus a share of it over the texts before them.

    The names of speakers are left out of the query: they stand in every turn, and count as a link instead.
    """
    telling = without_speakers(query, {candidate.speaker for candidate in candidates})
    own = Bm25Index([candidate.text for candidate in candidates], b=LENGTH).scores(telling)
    context = Bm25Index([candidate.context for candidate in candidates], b=LENGTH).scores(telling)
    return own + context_weight * context


def without_speakers(query: str, speakers: Collection[str]) -> str:
    """Return the query's words without the speakers' names, unless nothing else would be left."""
    named = {word for speaker in speakers for word in words(speaker)}
    return " ".join(word for word in words(query) if word not in named) or query


def _weighted_mean(signals: Mapping[str, Scores | None], weights: RetrievalSettings, size: int) -> Scores:
    present = {name: values for name, values in signals.items() if values is not None}
    whole = sum(getattr(weights, name) for name in present)
    if not whole:
        return np.ones(size)
    total = np.zeros(size)
    for name, values in present.items():
        total += getattr(weights, name) / whole * values
    return total


def _column(values: Scores | None, size: int) -> list[float | None]:
    return [None] * size if values is None else [float(value) for value in values]
