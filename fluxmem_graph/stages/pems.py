"""Stage III, PEMS: how well a skill works for its length, and how far it has settled (section 3.3)."""

import math
from dataclasses import dataclass

SHORTEST = 32
"""Tokens; a shorter skill counts as this long, since an empty one would win."""


@dataclass(frozen=True, slots=True)
class Pems:
    """The three parts: mean success in 0..1, length in tokens, drift in 0..1 from the version before."""

    success: float
    length: int
    drift: float

    @property
    def efficiency(self) -> float:
        """Success per length, η / ln ℓ: what versions are compared by, on the same episodes."""
        return self.success / math.log(max(self.length, SHORTEST))

    @property
    def value(self) -> float:
        """PEMS = η / ln ℓ · (1 - δ) (section 3.3)."""
        return self.efficiency * (1 - self.drift)


def drift(cosine: float | None) -> float:
    """Return how far a version moved: 1 - cosine to the one before, in 0..1, and 0 for a first one."""
    return 0.0 if cosine is None else min(1.0, max(0.0, 1 - cosine))


def settled(current: Pems, previous: Pems | None, epsilon: float) -> bool:
    """Tell whether a version says what the one before it said, to the same effect; a fall has not settled."""
    if previous is None or current.drift >= epsilon:
        return False
    return 0 <= current.efficiency - previous.efficiency < epsilon
