"""Stage I, initial connection formation: what memory brings back for an observation (section 3.1).

Two round trips: the candidates; then, once they are scored and verified here, their spreading.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fluxmem_graph.errors import InvalidInput, LLMError
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.ingest.values import check_text, decode_metadata, metadata_tag
from fluxmem_graph.protocols import LLM, Embedder
from fluxmem_graph.retrieval.fusion import Candidate, Fused, Scores, fuse
from fluxmem_graph.retrieval.inheritance import by_name, in_time
from fluxmem_graph.retrieval.verify import verify
from fluxmem_graph.settings import RetrievalSettings
from fluxmem_graph.types import Activation, Hit, Layer, Signals

# Verification reads texts: only as many as one call can hold.
VERIFIED_CANDIDATES = 30


@dataclass(frozen=True, slots=True)
class Seeds:
    """Scored candidates, as columns in one order; `gained` is what they have beyond their own signals."""

    candidates: Sequence[Candidate]
    fused: Fused
    gained: Scores

    @property
    def scores(self) -> Scores:
        """Own signals and gains together."""
        total: Scores = self.fused.total + self.gained
        return total


@dataclass(frozen=True, slots=True)
class Formation:
    """Stage I over one namespace."""

    database: Database
    embedder: Embedder
    llm: LLM | None
    namespace: str
    settings: RetrievalSettings

    def activate(self, query: str, *, top_k: int, where: Mapping[str, Any]) -> Activation:
        """Return the best facts, similar episodes and their skills. Raises InvalidInput."""
        query = check_text(query)
        vector = vectors(self.embedder.embed([query]))[0]
        return self.activate_vector(query, vector, top_k=top_k, where=where)

    def activate_vector(self, query: str, vector: Any, *, top_k: int, where: Mapping[str, Any]) -> Activation:
        """Do the same with the query's embedding given as the driver takes it, or None for words alone."""
        if top_k < 1:
            raise InvalidInput(f"top_k must be 1 or more, not {top_k}")
        tags = [metadata_tag(key, value) for key, value in where.items()]
        candidates = self._candidates(query, vector, tags)
        seeds, verified = self._score(query, candidates)
        rows = self._spread(seeds, vector, top_k, tags)
        signals = {
            "dense": "off: no embedding" if vector is None else self.embedder.name,
            "sparse": "rank-bm25",
            "verified": verified,
        }
        return _activation(query, rows, seeds, signals)

    def _candidates(self, query: str, vector: Any, tags: list[str]) -> list[Candidate]:
        rows = self.database.run(
            "fluxmem.candidates", namespace=self.namespace, text=query, embedding=vector, tags=tags
        )
        if not rows:
            return []
        columns = rows[0]
        cosines = columns["cosines"] or [None] * len(columns["ids"])
        rest = (columns[name] for name in ("texts", "speakers", "sessions", "named", "before"))
        return [Candidate(*values) for values in zip(columns["ids"], cosines, *rest, strict=True)]

    def _score(self, query: str, candidates: Sequence[Candidate]) -> tuple[Seeds, str]:
        fused, verified = fuse(query, candidates, self.settings), "off: no LLM"
        if self.llm is not None and candidates:
            best = [candidates[place] for place in np.argsort(-fused.total)[:VERIFIED_CANDIDATES]]
            try:
                verdicts = verify(self.llm, query, best)
                fused, verified = fuse(query, candidates, self.settings, verdicts), self.llm.name
            except LLMError as error:
                verified = f"off: {error}"
        gained = in_time(fused.total, candidates, self.settings) + by_name(query, candidates, self.settings)
        return Seeds(candidates, fused, gained), verified

    def _spread(self, seeds: Seeds, vector: Any, top_k: int, tags: list[str]) -> list[Row]:
        order = np.argsort(-seeds.scores, kind="stable")
        return self.database.run(
            "fluxmem.spread",
            namespace=self.namespace,
            ids=[seeds.candidates[place].id for place in order],
            scores=seeds.scores[order].tolist(),
            embedding=vector,
            topK=top_k,
            tags=tags,
            options=self.settings.model_dump(include={"title", "entity", "support", "hub", "episodes"}),
        )


def _activation(query: str, rows: Sequence[Row], seeds: Seeds, signals: dict[str, str]) -> Activation:
    place = {candidate.id: index for index, candidate in enumerate(seeds.candidates)}
    hits = [_hit(row, seeds, place.get(row["id"])) for row in rows]
    by_layer = {layer: tuple(hit for hit in hits if hit.layer is layer) for layer in Layer}
    return Activation(
        query, by_layer[Layer.SEMANTIC], by_layer[Layer.EPISODIC], by_layer[Layer.PROCEDURAL], signals
    )


def _hit(row: Row, seeds: Seeds, place: int | None) -> Hit:
    dense = sparse = verified = None
    path, spread = list(row["path"]), row["spread"]
    if place is not None:
        fused, candidate, gained = seeds.fused, seeds.candidates[place], float(seeds.gained[place])
        dense, sparse, verified = (
            None if column is None else float(column[place])
            for column in (fused.dense, fused.sparse, fused.verified)
        )
        spread += gained
        named = [f"named {candidate.named}"] if candidate.named else []
        path = ["candidate", *named, *(["near in time or by its speaker"] if gained else []), *path]
    return Hit(
        id=row["id"],
        layer=Layer(row["layer"]),
        content=row["content"],
        score=row["score"],
        signals=Signals(dense, sparse, verified, spread),
        path=tuple(path),
        name=row["name"],
        external_id=row["external_id"],
        source=row["source"],
        speaker=row["speaker"],
        occurred_at=row["occurred_at"],
        metadata=decode_metadata(row["metadata"]),
    )
