"""A deterministic embedder without a model, for tests and dry runs."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from fluxmem_graph.embedding.vectors import unit_rows
from fluxmem_graph.protocols import FloatMatrix


class HashingEmbedder:
    """Hashes the character n-grams of each word into signed buckets, so shared words mean nearness."""

    def __init__(self, dimension: int = 384) -> None:
        self._dimension = dimension

    @property
    def name(self) -> str:
        """`hashing-` and the dimension."""
        return f"hashing-{self._dimension}"

    @property
    def dimension(self) -> int:
        """Length of each vector."""
        return self._dimension

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension), rows of unit length."""
        if not texts:
            return np.zeros((0, self._dimension), dtype=np.float32)
        return unit_rows(self._vectorizer.transform(texts).toarray())

    @cached_property
    def _vectorizer(self) -> Any:
        from sklearn.feature_extraction.text import HashingVectorizer

        # Two characters are a whole word in scripts without spaces; longer n-grams tell words apart.
        return HashingVectorizer(analyzer="char_wb", ngram_range=(2, 4), n_features=self._dimension)
