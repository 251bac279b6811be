"""Stage I, initial connection formation: what memory brings back for an observation (section 3.1).

Two round trips: the candidates; then, once they are scored and verified here, their spreading.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.errors import InvalidInput, LLMError
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.ingest.values import check_text, decode_metadata, metadata_tag
from fluxmem_graph.protocols import LLM, Embedder
from fluxmem_graph.retrieval.fusion import Candidate, Seed, score
from fluxmem_graph.retrieval.verify import verify
from fluxmem_graph.settings import RetrievalSettings
from fluxmem_graph.types import Activation, Hit, Layer, Signals

# Verification reads texts: only as many as one call can hold.
VERIFIED_CANDIDATES = 30


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
        if top_k < 1:
            raise InvalidInput(f"top_k must be 1 or more, not {top_k}")
        vector = vectors(self.embedder.embed([query]))[0]
        return self.activate_vector(query, vector, top_k=top_k, where=where)

    def activate_vector(self, query: str, vector: Any, *, top_k: int, where: Mapping[str, Any]) -> Activation:
        """Do the same with the query's embedding given as the driver takes it, or None for words alone."""
        tags = [metadata_tag(key, value) for key, value in where.items()]
        candidates = self._candidates(query, vector, tags)
        signals = {
            "dense": "off: no embedding" if vector is None else self.embedder.name,
            "sparse": "rank-bm25",
        }
        seeds, signals["verified"] = self._score(query, candidates)
        rows = self._spread(query, vector, seeds, top_k, tags)
        scored = {seed.id: seed for seed in seeds}
        return _activation(query, [_hit(row, scored.get(row["id"])) for row in rows], signals)

    def _candidates(self, query: str, vector: Any, tags: list[str]) -> list[Candidate]:
        rows = self.database.run(
            "fluxmem.candidates", namespace=self.namespace, text=query, embedding=vector, tags=tags
        )
        columns = rows[0] if rows else dict.fromkeys(("ids", "cosines", "texts", "contexts", "speakers"), [])
        cosines = columns["cosines"] or [None] * len(columns["ids"])
        rest = (columns[name] for name in ("texts", "contexts", "speakers"))
        return [Candidate(*values) for values in zip(columns["ids"], cosines, *rest, strict=True)]

    def _score(self, query: str, candidates: Sequence[Candidate]) -> tuple[list[Seed], str]:
        seeds = score(query, candidates, self.settings)
        if self.llm is None:
            return seeds, "off: no LLM"
        best = sorted(zip(seeds, candidates, strict=True), key=lambda pair: -pair[0].score)
        try:
            verdicts = verify(self.llm, query, [c for _, c in best[:VERIFIED_CANDIDATES]])
        except LLMError as error:
            return seeds, f"off: {error}"
        return score(query, candidates, self.settings, verdicts), self.llm.name

    def _spread(
        self, query: str, vector: Any, seeds: Sequence[Seed], top_k: int, tags: list[str]
    ) -> list[Row]:
        return self.database.run(
            "fluxmem.activate",
            namespace=self.namespace,
            text=query,
            embedding=vector,
            topK=top_k,
            tags=tags,
            seeds=[{"id": seed.id, "score": seed.score} for seed in seeds],
            options=self.settings.model_dump(exclude={"verified", "context"}),
        )


def _activation(query: str, hits: Sequence[Hit], signals: dict[str, str]) -> Activation:
    by_layer = {layer: tuple(hit for hit in hits if hit.layer is layer) for layer in Layer}
    return Activation(
        query, by_layer[Layer.SEMANTIC], by_layer[Layer.EPISODIC], by_layer[Layer.PROCEDURAL], signals
    )


def _hit(row: Row, seed: Seed | None) -> Hit:
    signals = (
        Signals(row["dense"], row["sparse"], row["verified"], row["spread"])
        if seed is None
        else Signals(seed.dense, seed.sparse, seed.verified, row["spread"])
    )
    return Hit(
        id=row["id"],
        layer=Layer(row["layer"]),
        content=row["content"],
        score=row["score"],
        signals=signals,
        path=tuple(row["path"]),
        name=row["name"],
        external_id=row["external_id"],
        source=row["source"],
        speaker=row["speaker"],
        occurred_at=row["occurred_at"],
        metadata=decode_metadata(row["metadata"]),
    )
