"""What a candidate gains from where it stands: time, session, speaker, title, and what episodes taught."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fluxmem_graph.retrieval.fusion import Candidate, Scores
from fluxmem_graph.retrieval.sparse import words
from fluxmem_graph.settings import RetrievalSettings


@dataclass(frozen=True, slots=True)
class Inherited:
    """What each candidate gains, one column per reason, shape (candidates,)."""

    near: Scores
    session: Scores
    spoken: Scores
    named: Scores
    learned: Scores

    @property
    def total(self) -> Scores:
        """All gains together."""
        total: Scores = self.near + self.session + self.spoken + self.named + self.learned
        return total

    def path(self, place: int, candidate: Candidate) -> list[str]:
        """Say in words why the candidate at `place` gained something of its own."""
        reasons = (
            (self.near, "near in time"),
            (self.spoken, f"said by {candidate.speaker}"),
            (self.named, f"named {candidate.named}"),
        )
        return [reason for gains, reason in reasons if gains[place] > 0] + list(candidate.ways)


def inherit(
    query: str, scores: Scores, candidates: Sequence[Candidate], weights: RetrievalSettings
) -> Inherited:
    """Return what the candidates gain, given the fused scores of their own signals.

    Neighbours in time are one and two turns away, and candidates themselves.
    """
    asked = set(words(query))
    speakers = {candidate.speaker for candidate in candidates} - {""}
    meant = {speaker for speaker in speakers if asked.issuperset(words(speaker))}
    return Inherited(
        weights.neighbour * _near(scores, candidates),
        weights.session * _session(scores, candidates),
        weights.speaker * np.asarray([c.speaker in meant for c in candidates], float),
        weights.named * np.asarray([c.named != "" for c in candidates], float),
        np.asarray([candidate.learned for candidate in candidates], float),
    )


def _near(scores: Scores, candidates: Sequence[Candidate]) -> Scores:
    """Return the score of the better neighbour at one turn, and half of that at two."""
    place = {candidate.id: index for index, candidate in enumerate(candidates)}
    near = np.zeros((2, len(candidates)))
    for index, candidate in enumerate(candidates):
        for distance, earlier in enumerate(candidate.before[:2]):
            other = place.get(earlier)
            if other is not None:
                near[distance, index] = max(near[distance, index], scores[other])
                near[distance, other] = max(near[distance, other], scores[index])
    shares: Scores = near[0] + near[1] / 2
    return shares


def _session(scores: Scores, candidates: Sequence[Candidate]) -> Scores:
    """Return the best score of each candidate's session."""
    best: dict[str, float] = {}
    for candidate, score in zip(candidates, scores, strict=True):
        if candidate.session:
            best[candidate.session] = max(best.get(candidate.session, 0.0), float(score))
    return np.asarray([best.get(candidate.session, 0.0) for candidate in candidates])
