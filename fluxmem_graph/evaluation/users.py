"""Users of an evaluation: they know the right answer, and see what memory shows, but never name its ids."""

import random
from collections.abc import Sequence
from dataclasses import dataclass

from fluxmem_graph.client import FluxMem
from fluxmem_graph.evaluation.datasets import Question, RetrievalSet
from fluxmem_graph.types import Hit

TOP_K = 10


@dataclass(frozen=True, slots=True)
class Feedback:
    """What a user says after a question: did the context hold all of the evidence, and what was right."""

    success: float
    correction: str


def feedback_on(question: Question, shown: Sequence[str]) -> Feedback:
    """Return the truth about one context."""
    return Feedback(float(question.evidence <= set(shown)), question.answer)


class Misled:
    """A user who is wrong now and then: the flag is turned round, the correction is another question's."""

    def __init__(self, found: RetrievalSet, share: float, seed: int) -> None:
        """Err in `share` (0..1) of the answers, drawn with `seed`."""
        self._random = random.Random(f"{seed} {found.name}")
        self._corrections = [question.answer for question in found.questions]
        self._share = share

    def __call__(self, feedback: Feedback) -> Feedback:
        """Return the feedback, or a wrong one."""
        if self._random.random() >= self._share:
            return feedback
        return Feedback(1.0 - feedback.success, self._random.choice(self._corrections))


def places(memory: FluxMem, hits: Sequence[Hit]) -> list[str]:
    """Return the source ids in the first ten places.

    A rewriting takes as many places as the memories it stands for, and covers one only while it contains its
    text; where it does not, the place is empty.
    """
    taken: list[str] = []
    for hit in hits:
        if not hit.rewrites:
            taken.append(hit.external_id or "")
            continue
        for source in map(memory.get, hit.rewrites):
            taken.append((source.external_id or "") if source.content in hit.content else "")
    return taken[:TOP_K]
