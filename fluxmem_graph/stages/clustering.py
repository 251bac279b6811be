"""Stage III, clustering: which episodes are runs of one kind of task (section 3.3)."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.settings import ConsolidationSettings

Rows = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]

NOISE = -1
# HDBSCAN compares all pairs where there are many dimensions: 20,000 rows take minutes, in 64 dimensions one.
REDUCED_FROM = 2000
DIMENSIONS = 64


@dataclass(frozen=True, slots=True)
class Clusters:
    """One label per row, -1 for noise; `dimensions` are those in which rows were compared.

    `plane` has two coordinates per row, to look at.
    """

    labels: Labels
    dimensions: int
    plane: Rows

    @property
    def count(self) -> int:
        """How many clusters there are."""
        return int(self.labels.max(initial=NOISE)) + 1

    def members(self) -> list[list[int]]:
        """Return the places of each cluster's rows, by label."""
        return [np.flatnonzero(self.labels == label).tolist() for label in range(self.count)]


def cluster(vectors: FloatMatrix | Sequence[Sequence[float]], settings: ConsolidationSettings) -> Clusters:
    """Cluster vectors of shape (rows, dimensions) by direction; the same clusters in any order of rows.

    A row that is not finite, or of length zero, is noise. Above 2,000 rows they are compared by their 64
    principal components.
    """
    given = np.asarray(vectors, dtype=np.float64)
    if given.ndim != 2:
        return Clusters(np.empty(0, dtype=np.intp), 0, np.zeros((0, 2)))
    lengths = np.linalg.norm(given, axis=1)
    usable = np.flatnonzero(np.isfinite(lengths) & (lengths > 0))
    labels = np.full(len(given), NOISE, dtype=np.intp)
    plane = np.zeros((len(given), 2))
    if len(usable) < settings.min_cluster_size:
        return Clusters(labels, given.shape[1], plane)
    rows = given[usable] / lengths[usable, None]
    order = np.lexsort(rows.T)
    compared = _reduced(rows[order]) if len(rows) > REDUCED_FROM else rows[order]
    labels[usable[order]] = _numbered(_label(rows[order], compared, settings))
    plane[usable[order]] = _components(rows[order], 2)
    return Clusters(labels, compared.shape[1], plane)


def _label(rows: Rows, compared: Rows, settings: ConsolidationSettings) -> Labels:
    import hdbscan

    if _from_middle(rows).max() <= settings.one_cluster / 2:
        # Where all runs are of one kind HDBSCAN, which never takes everything, would split it by chance.
        return np.zeros(len(rows), dtype=np.intp)
    found = np.full(len(rows), NOISE, dtype=np.intp)
    if len(rows) > max(settings.min_cluster_size, settings.min_samples):
        found = hdbscan.HDBSCAN(
            min_cluster_size=settings.min_cluster_size, min_samples=settings.min_samples
        ).fit_predict(compared)
    found = _repeated(rows, found, settings.min_cluster_size)
    return found if found.max() >= 0 else _only_cluster(rows, settings)


def _repeated(rows: Rows, labels: Labels, smallest: int) -> Labels:
    """Make identical rows that were left as noise a cluster: among equal distances none stands out."""
    noise = np.flatnonzero(labels == NOISE)
    _, which, counts = np.unique(rows[noise], axis=0, return_inverse=True, return_counts=True)
    following = labels.max() + 1
    for group in np.flatnonzero(counts >= smallest):
        labels[noise[which.reshape(-1) == group]] = following
        following += 1
    return labels


def _only_cluster(rows: Rows, settings: ConsolidationSettings) -> Labels:
    """Take rows near the one in their middle as one cluster, if they are half of all or more."""
    near = _from_middle(rows) <= settings.one_cluster
    tight = near.sum() >= max(settings.min_cluster_size, len(rows) / 2)
    return np.where(near & tight, 0, NOISE)


def _from_middle(rows: Rows) -> Rows:
    """Return the distance of every row from the one that is most like all others."""
    middle = rows[np.argmax(rows @ rows.sum(axis=0))]
    distances: Rows = np.linalg.norm(rows - middle, axis=1)
    return distances


def _numbered(labels: Labels) -> Labels:
    """Number clusters by their first row, since HDBSCAN's numbers depend on the order."""
    numbers = {NOISE: NOISE}
    for label in labels.tolist():
        numbers.setdefault(label, len(numbers) - 1)
    return np.asarray([numbers[label] for label in labels.tolist()], dtype=np.intp)


def _reduced(rows: Rows) -> Rows:
    from sklearn.decomposition import TruncatedSVD

    # Not centred, or what all rows have in common would be lost and their small differences grow.
    reduced = TruncatedSVD(min(DIMENSIONS, rows.shape[1]), random_state=0).fit_transform(rows)
    lengths = np.linalg.norm(reduced, axis=1, keepdims=True)
    unit: Rows = reduced / np.where(lengths > 0, lengths, 1)
    return unit


def _components(rows: Rows, count: int) -> Rows:
    from sklearn.decomposition import PCA

    if not np.ptp(rows, axis=0).any():
        return np.zeros((len(rows), count))
    kept = min(count, *rows.shape)
    found = PCA(kept, random_state=0).fit_transform(rows)
    return np.pad(found, ((0, 0), (0, count - kept)))
