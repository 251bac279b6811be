"""What the engine asks of its models: any object with these members will do."""

from collections.abc import Sequence
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import BaseModel

FloatMatrix = npt.NDArray[np.float32]
ModelT = TypeVar("ModelT", bound=BaseModel)


class Embedder(Protocol):
    """Turns texts into unit vectors."""

    @property
    def name(self) -> str:
        """Stable identifier stored beside every vector, such as `all-MiniLM-L6-v2`."""

    @property
    def dimension(self) -> int:
        """Length of each vector."""

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension), rows of unit length.

        A text longer than the model's window is the normalised mean of its chunks.
        Raises EmbeddingError.
        """


class LLM(Protocol):
    """Answers one structured question."""

    @property
    def name(self) -> str:
        """Model identifier, recorded beside what it decided."""

    @property
    def usage(self) -> dict[str, int]:
        """Totals since creation: `calls`, `prompt_tokens`, `completion_tokens`."""

    def ask(self, system: str, user: str, schema: type[ModelT]) -> ModelT:
        """Return an instance of `schema`; one repair turn, then LLMError."""
