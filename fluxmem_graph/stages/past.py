"""Memory as the store had it at a moment: contents and status of then, not the weights of links."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import numpy as np

from fluxmem_graph.errors import InvalidInput, NotFound
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.ingest.values import check_text, decode_metadata, metadata_tag
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.retrieval.fusion import Candidate, fuse
from fluxmem_graph.retrieval.sparse import content_words
from fluxmem_graph.settings import RetrievalSettings
from fluxmem_graph.types import Activation, Hit, Layer, PastVersion, Signals, Status

# More than any answer holds: the texts are scored again, each layer on its own.
POOL = 300


@dataclass(frozen=True, slots=True)
class Past:
    """One namespace at a moment of recorded time (zoned UTC)."""

    database: Database
    embedder: Embedder
    namespace: str
    settings: RetrievalSettings
    moment: datetime

    def search(
        self, query: str, *, top_k: int = 10, where: Mapping[str, Any] | None = None
    ) -> tuple[Hit, ...]:
        """Return the facts of then that answer a query, best first. Raises InvalidInput."""
        return self.activate(query, top_k=top_k, where=where).facts

    def activate(self, query: str, *, top_k: int = 10, where: Mapping[str, Any] | None = None) -> Activation:
        """Return facts, episodes and skills of then, scored by vectors and words. Raises InvalidInput."""
        if top_k < 1:
            raise InvalidInput(f"top_k must be 1 or more, not {top_k}")
        rows = self.database.run(
            "fluxmem.past",
            namespace=self.namespace,
            moment=self.moment,
            words=content_words(check_text(query)),
            embedding=vectors(self.embedder.embed([query]))[0],
            tags=[metadata_tag(key, value) for key, value in (where or {}).items()],
            top=POOL,
        )
        facts, episodes, skills = (self._ranked(query, rows, layer, top_k) for layer in Layer)
        signals = {"dense": self.embedder.name, "sparse": "rank-bm25"}
        return Activation(query, facts, episodes, skills, signals)

    def get(self, memory_id: str) -> PastVersion:
        """Return a memory's version and status of then. Raises NotFound."""
        rows = self.database.run(
            "fluxmem.internal.pastVersion", namespace=self.namespace, id=memory_id, moment=self.moment
        )
        if not rows:
            raise NotFound(f"no memory {memory_id} in namespace {self.namespace} at {self.moment:%F %T} UTC")
        row = rows[0]
        return PastVersion(
            memory_id, row["version"], row["content"], Status(row["status"]), decode_metadata(row["metadata"])
        )

    def _ranked(self, query: str, rows: Sequence[Row], layer: Layer, top_k: int) -> tuple[Hit, ...]:
        found = [row for row in rows if row["layer"] == layer]
        fused = fuse(
            query, [Candidate(row["id"], row["cosine"], row["text"]) for row in found], self.settings
        )
        return tuple(
            Hit(
                id=row["id"],
                layer=layer,
                content=row["content"],
                score=float(fused.total[place]),
                signals=Signals(
                    dense=None if fused.dense is None else float(fused.dense[place]),
                    sparse=None if fused.sparse is None else float(fused.sparse[place]),
                ),
                path=(f"version {row['version']}",),
                metadata=decode_metadata(row["metadata"]),
                **{name: row[name] for name in ("name", "external_id", "source", "speaker", "occurred_at")},
            )
            for place in np.argsort(-fused.total, kind="stable")[:top_k]
            for row in (found[place],)
        )
