"""What a candidate gains from where it stands: neighbours in time, session, speaker, title."""

from collections.abc import Sequence

import numpy as np

from fluxmem_graph.retrieval.fusion import Candidate, Scores
from fluxmem_graph.retrieval.sparse import words
from fluxmem_graph.settings import RetrievalSettings


def in_time(scores: Scores, candidates: Sequence[Candidate], weights: RetrievalSettings) -> Scores:
    """Return each candidate's share of its better neighbours in time and of its session's best.

    Neighbours are one and two turns away, and candidates themselves. All shares are of the scores given.
    """
    place = {candidate.id: index for index, candidate in enumerate(candidates)}
    near = np.zeros((2, len(candidates)))
    best: dict[str, float] = {}
    for index, candidate in enumerate(candidates):
        for distance, earlier in enumerate(candidate.before[:2]):
            other = place.get(earlier)
            if other is not None:
                near[distance, index] = max(near[distance, index], scores[other])
                near[distance, other] = max(near[distance, other], scores[index])
        if candidate.session:
            best[candidate.session] = max(best.get(candidate.session, 0.0), float(scores[index]))
    session = np.asarray([best.get(candidate.session, 0.0) for candidate in candidates])
    shares: Scores = weights.neighbour * (near[0] + near[1] / 2) + weights.session * session
    return shares


def by_name(query: str, candidates: Sequence[Candidate], weights: RetrievalSettings) -> Scores:
    """Return each candidate's bonus when the query names its speaker or its title."""
    asked = set(words(query))
    spoken = [c.speaker != "" and asked.issuperset(words(c.speaker)) for c in candidates]
    named = [candidate.named != "" for candidate in candidates]
    bonus: Scores = weights.speaker * np.asarray(spoken, float) + weights.named * np.asarray(named, float)
    return bonus
