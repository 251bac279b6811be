"""Embeddings from an OpenAI-compatible endpoint."""

import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
from pydantic import SecretStr

from fluxmem_graph.embedding.vectors import mean_by_owner
from fluxmem_graph.errors import ConfigurationError, EmbeddingError
from fluxmem_graph.protocols import FloatMatrix

# Endpoints count tokens but publish no tokenizer; this many characters fit 8,191 tokens in most scripts.
PIECE_CHARACTERS = 6_000


class RemoteEmbedder:
    """Calls an OpenAI-compatible endpoint in batches; the dimension is found by one call at first use."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: SecretStr | None = None,
        batch_size: int = 64,
        timeout_s: float = 60,
    ) -> None:
        if not model:
            raise ConfigurationError("setting embedder names no model; write openai:MODEL")
        if api_key is None and base_url is None:
            raise ConfigurationError(
                f"embedder openai:{model} needs OPENAI_API_KEY, or OPENAI_BASE_URL for an own endpoint"
            )
        self._model = model
        self._base_url = base_url
        # Endpoints of one's own often want no key, but the client refuses to start without one.
        self._api_key = api_key or SecretStr("unused")
        self._batch_size = batch_size
        self._timeout_s = timeout_s
        self._probing = threading.Lock()
        self._dimension: int | None = None

    @property
    def name(self) -> str:
        """`openai:` and the model."""
        return f"openai:{self._model}"

    @property
    def dimension(self) -> int:
        """Length of each vector; the first read makes one call. Raises EmbeddingError."""
        with self._probing:
            if self._dimension is None:
                self._dimension = self._request(["dimension"]).shape[1]
            return self._dimension

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension), rows of unit length.

        A text over 6,000 characters is the normalised mean of its pieces; a blank one is a fixed
        vector and never sent. Raises EmbeddingError.
        """
        pieces: list[str] = []
        owners: list[int] = []
        for owner, text in enumerate(texts):
            for start in range(0, len(text), PIECE_CHARACTERS):
                piece = text[start : start + PIECE_CHARACTERS]
                if piece.strip():
                    pieces.append(piece)
                    owners.append(owner)
        rows = [np.zeros((0, self.dimension), dtype=np.float32)]
        for start in range(0, len(pieces), self._batch_size):
            rows.append(self._request(pieces[start : start + self._batch_size]))
        return mean_by_owner(np.concatenate(rows), np.asarray(owners, dtype=np.intp), len(texts))

    def _request(self, texts: list[str]) -> FloatMatrix:
        import openai

        try:
            answer = self._client.embeddings.create(model=self._model, input=texts)
        except openai.AuthenticationError:
            # The endpoint's own message repeats part of the key.
            raise EmbeddingError(f"{self.name}: the endpoint refused the key; check OPENAI_API_KEY") from None
        except openai.OpenAIError as error:
            raise EmbeddingError(
                f"{self.name}: {self._redact(str(error))}; check OPENAI_BASE_URL and the model's name"
            ) from error
        ordered = sorted(answer.data, key=lambda item: item.index)
        if [item.index for item in ordered] != list(range(len(texts))):
            raise EmbeddingError(f"{self.name}: {len(texts)} texts sent, {len(ordered)} vectors came back")
        lengths = {len(item.embedding) for item in ordered}
        if len(lengths) != 1 or (self._dimension is not None and lengths != {self._dimension}):
            raise EmbeddingError(f"{self.name}: vectors of several lengths came back: {sorted(lengths)}")
        return np.asarray([item.embedding for item in ordered], dtype=np.float32)

    def _redact(self, message: str) -> str:
        return message.replace(self._api_key.get_secret_value(), "***")[:300]

    @cached_property
    def _client(self) -> Any:
        import openai

        return openai.OpenAI(
            api_key=self._api_key.get_secret_value(), base_url=self._base_url, timeout=self._timeout_s
        )
