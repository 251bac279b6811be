"""Shaping rows of vectors."""

import numpy as np
import numpy.typing as npt

from fluxmem_graph.errors import EmbeddingError
from fluxmem_graph.protocols import FloatMatrix


def unit_rows(rows: npt.ArrayLike) -> FloatMatrix:
    """Return the rows as float32 of unit length, shape unchanged.

    A row without direction becomes the first axis: the database refuses zero vectors under cosine.
    Raises EmbeddingError when a row holds NaN or infinity.
    """
    matrix: FloatMatrix = np.asarray(rows, dtype=np.float32)
    if not np.isfinite(matrix).all():
        raise EmbeddingError("the embedder returned NaN or infinity; check the model's files or endpoint")
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    blank = lengths[:, 0] == 0
    units: FloatMatrix = np.divide(matrix, np.where(lengths == 0, 1, lengths), dtype=np.float32)
    units[blank, 0] = 1
    return units


def mean_by_owner(pieces: FloatMatrix, owners: npt.NDArray[np.intp], count: int) -> FloatMatrix:
    """Average pieces of shape (pieces, dimension) into unit rows of shape (count, dimension) by owner."""
    sums = np.zeros((count, pieces.shape[1]), dtype=np.float32)
    np.add.at(sums, owners, pieces)
    return unit_rows(sums)
