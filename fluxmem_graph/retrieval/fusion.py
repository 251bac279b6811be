"""Stage I's score: dense, sparse and verified signals, scaled over the candidates, averaged (section 3.1)."""

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
    """A fact that may be meant.

    `cosine` is None without vectors; `speaker`, `session` and `named` (the title that the query names) are
    empty when there is none; `before` holds the ids of the two memories before it in time. `learned` is what
    the episodes in `ways` add to its score; a fact that only they bring has no text here.
    """

    id: str
    cosine: float | None
    text: str
    speaker: str = ""
    session: str = ""
    named: str = ""
    before: Sequence[str] = ()
    learned: float = 0.0
    ways: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Fused:
    """The candidates' scores and signals, one column each; a signal that tells nothing apart is None."""

    total: Scores
    dense: Scores | None
    sparse: Scores | None
    verified: Scores | None


def fuse(
    query: str,
    candidates: Sequence[Candidate],
    weights: RetrievalSettings,
    verified: Mapping[str, float] | None = None,
) -> Fused:
    """Return the weighted mean of the signals; `verified` maps ids to 0..1."""
    dense = scaled([candidate.cosine for candidate in candidates])
    sparse = scaled(list(sparse_scores(query, candidates)))
    judged = None if verified is None else scaled([verified.get(c.id, 0.0) for c in candidates])
    weighted = [
        (weight, values)
        for weight, values in ((weights.dense, dense), (weights.sparse, sparse), (weights.verified, judged))
        if values is not None and weight > 0
    ]
    whole = sum(weight for weight, _ in weighted)
    total = np.zeros(len(candidates)) if weighted else np.ones(len(candidates))
    for weight, values in weighted:
        total += weight / whole * values
    return Fused(total, dense, sparse, judged)


def scaled(values: Sequence[float | None]) -> Scores | None:
    """Scale to 0..1; a missing value is 0, and None is returned when all are equal: they rank nothing."""
    known = np.asarray([value for value in values if value is not None], dtype=np.float64)
    width = float(np.ptp(known)) if known.size else 0.0
    if width == 0:
        return None
    lowest = float(known.min())
    return np.asarray([0.0 if value is None else (value - lowest) / width for value in values])


def sparse_scores(query: str, candidates: Sequence[Candidate]) -> Scores:
    """Return BM25 over the candidates, shape (len(candidates),).

    The names of speakers are left out of the query: they stand in every turn, and count as a link instead.
    """
    telling = without_speakers(query, {candidate.speaker for candidate in candidates})
    # What learning alone brings has no text, and must not change how rare a word is.
    places = [place for place, candidate in enumerate(candidates) if candidate.text]
    scores = np.zeros(len(candidates))
    scores[places] = Bm25Index([candidates[place].text for place in places], b=LENGTH).scores(telling)
    return scores


def without_speakers(query: str, speakers: Collection[str]) -> str:
    """Return the query's words without the speakers' names, unless nothing else would be left."""
    named = {word for speaker in speakers for word in words(speaker)}
    return " ".join(word for word in words(query) if word not in named) or query
