"""The library itself as a system under evaluation."""

import time
import uuid
from collections.abc import Sequence

from fluxmem_graph.client import FluxMem
from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.evaluation.datasets import Document
from fluxmem_graph.evaluation.systems import Ranking
from fluxmem_graph.graph.database import vectors
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.settings import Settings

NAMESPACE_PREFIX = "eval-"


class FluxMemSystem:
    """Stores documents as an ordinary ingest does, in a namespace of its own, and ranks them by Stage I."""

    def __init__(self, settings: Settings, embedder: Embedder) -> None:
        """Connect to the settings' database. Raises what `FluxMem.connect` raises."""
        namespace = f"{NAMESPACE_PREFIX}{uuid.uuid4().hex}"
        self._settings = settings.model_copy(update={"namespace": namespace})
        self._embedder = embedder
        self.memory = self._connect()

    def _connect(self) -> FluxMem:
        return FluxMem.connect(self._settings, embedder=self._embedder, actor="evaluation")

    def index(self, documents: Sequence[Document]) -> None:
        """Ingest the documents. Raises ConfigurationError for one that can't be stored."""
        report = self.memory.ingest(document.memory for document in documents)
        if report.failures:
            first = report.failures[0]
            raise ConfigurationError(f"{first.where}: {first.reason}")

    def search(self, question: str, top_k: int) -> Ranking:
        """Rank by Stage I; the question is embedded here, so that both times are known."""
        started = time.perf_counter()
        matrix = self._embedder.embed([question])
        embedded = time.perf_counter()
        found = self.memory.formation.activate_vector(question, vectors(matrix)[0], top_k=top_k, where={})
        ended = time.perf_counter()
        # A document's id is its memory's external id.
        ids = tuple(hit.external_id for hit in found.facts if hit.external_id is not None)
        return Ranking(ids, (ended - embedded) * 1000, (embedded - started) * 1000)

    def close(self) -> None:
        """Erase the namespace and close the connections."""
        # Ctrl-C in the middle of an answer leaves the driver with connections that it can't use again.
        try:
            with self._connect() as fresh:
                fresh.erase_namespace()
        finally:
            self.memory.close()
