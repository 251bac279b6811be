"""How good a ranking of source ids is, and how long queries took."""

from collections.abc import Collection, Sequence

import numpy as np


def recall_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return the share, 0..1, of the evidence among the first k places; `evidence` is not empty.

    A place is one source id, so a memory that stands for three sources takes three places.
    """
    gold = set(evidence)
    return len(gold.intersection(ranking[:k])) / len(gold)


def all_at(ranking: Sequence[str], evidence: Collection[str], k: int) -> float:
    """Return 1.0 when the first k places hold all of the evidence, else 0.0."""
    return float(set(evidence).issubset(ranking[:k]))


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the linearly interpolated percentile (`percent` in 0..100) of at least one value."""
    return float(np.percentile(values, percent))
