"""Stage I, initial connection formation: what memory brings back for an observation (section 3.1).

Two round trips: the candidates; then, once they are scored and verified here, their spreading.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

import numpy as np

from fluxmem_graph.errors import EmbedderMismatch, InvalidInput, LLMError
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.ingest.values import check_text, decode_metadata, metadata_tag
from fluxmem_graph.protocols import LLM, Embedder
from fluxmem_graph.retrieval.fusion import Candidate, Fused, Scores, fuse, scaled
from fluxmem_graph.retrieval.inheritance import Inherited, inherit
from fluxmem_graph.retrieval.verify import verify
from fluxmem_graph.settings import RetrievalSettings
from fluxmem_graph.types import Activation, Hit, Layer, Signals

# Verification reads texts: only as many as one call can hold.
VERIFIED_CANDIDATES = 30
EXCHANGING = "`fluxmem reembed` is exchanging the vectors; words and links answer alone until it is done"
CANDIDATE_COLUMNS = (
    "ids", "cosines", "texts", "speakers", "sessions", "named", "before", "learned", "ways"
)  # fmt: skip
LEARNED_OPTIONS = {"support", "topic", "same", "related", "half_life_days", "settled"}
SPREAD_OPTIONS = {"title", "entity", "associated", "hub", "episodes"}


@dataclass(frozen=True, slots=True)
class Pool:
    """What an observation may be about; episodes and settled skills that it resembles (id, similarity)."""

    candidates: Sequence[Candidate]
    episodes: Sequence[Row]
    skills: Sequence[Row]


@dataclass(frozen=True, slots=True)
class Seeds:
    """Scored candidates, as columns in one order; what they inherit is beyond their own signals."""

    candidates: Sequence[Candidate]
    fused: Fused
    inherited: Inherited

    @property
    def scores(self) -> Scores:
        """Own signals and what is inherited together."""
        total: Scores = self.fused.total + self.inherited.total
        return total


@dataclass(frozen=True, slots=True)
class Formation:
    """Stage I over one namespace."""

    database: Database
    embedder: Embedder
    llm: LLM | None
    namespace: str
    settings: RetrievalSettings
    exchanging: bool = False
    """Whether the vectors are being exchanged, so that words and links answer alone."""

    def activate(
        self,
        query: str,
        *,
        top_k: int,
        where: Mapping[str, Any],
        hidden: Sequence[str] = (),
        candidates: bool = False,
    ) -> Activation:
        """Return the best facts, similar episodes and their skills. Raises InvalidInput.

        `hidden` facts stay out; `candidates` are skills that wait for review.
        """
        query = check_text(query)
        asked: dict[str, Any] = {"top_k": top_k, "where": where, "hidden": hidden, "candidates": candidates}
        if self.exchanging:
            return self._by_words(query, EXCHANGING, asked)
        vector = vectors(self.embedder.embed([query]))[0]
        try:
            return self.activate_vector(query, vector, **asked)
        except EmbedderMismatch as error:
            return self._by_words(query, str(error), asked)

    def _by_words(self, query: str, why: str, asked: Mapping[str, Any]) -> Activation:
        found = self.activate_vector(query, None, **asked)
        return replace(found, signals={**found.signals, "dense": f"off: {why}"})

    def activate_vector(
        self,
        query: str,
        vector: Any,
        *,
        top_k: int,
        where: Mapping[str, Any],
        hidden: Sequence[str] = (),
        candidates: bool = False,
    ) -> Activation:
        """Do the same with the query's embedding given as the driver takes it, or None for words alone."""
        if top_k < 1:
            raise InvalidInput(f"top_k must be 1 or more, not {top_k}")
        tags = [metadata_tag(key, value) for key, value in where.items()]
        pool = self._pool(query, vector, tags)
        seeds, verified = self._score(query, pool.candidates, self.llm)
        rows = self._spread(seeds, pool, topK=top_k, tags=tags, hidden=list(hidden), candidates=candidates)
        signals = {
            "dense": "off: no embedding" if vector is None else self.embedder.name,
            "sparse": "rank-bm25",
            "verified": verified,
        }
        return _activation(query, rows, seeds, signals)

    def profile(self, query: str, vector: Any, *, top: int) -> dict[str, float]:
        """Return the best facts by id with their scores before spreading, the best as 1, the last as 0."""
        seeds, _ = self._score(query, self._pool(query, vector, []).candidates, None)
        order = np.argsort(-seeds.scores, kind="stable")[:top]
        scores = scaled(list(seeds.scores[order]))
        if scores is None:
            return {}
        return {seeds.candidates[place].id: float(score) for place, score in zip(order, scores, strict=True)}

    def _pool(self, query: str, vector: Any, tags: Sequence[str]) -> Pool:
        rows = self.database.run(
            "fluxmem.candidates",
            namespace=self.namespace,
            text=query,
            embedding=vector,
            tags=list(tags),
            options=self.settings.model_dump(include=LEARNED_OPTIONS),
        )
        if not rows:
            return Pool([], [], [])
        columns = [rows[0][name] for name in CANDIDATE_COLUMNS]
        return Pool(
            [Candidate(*values) for values in zip(*columns, strict=True)],
            rows[0]["episodes"],
            rows[0]["skills"],
        )

    def _score(self, query: str, candidates: Sequence[Candidate], llm: LLM | None) -> tuple[Seeds, str]:
        fused, verified = fuse(query, candidates, self.settings), "off: no LLM"
        if llm is not None and candidates:
            ranked = [candidates[place] for place in np.argsort(-fused.total)]
            best = [candidate for candidate in ranked if candidate.text][:VERIFIED_CANDIDATES]
            try:
                verdicts = verify(llm, query, best)
                fused, verified = fuse(query, candidates, self.settings, verdicts), llm.name
            except LLMError as error:
                verified = f"off: {error}"
        return Seeds(candidates, fused, inherit(query, fused.total, candidates, self.settings)), verified

    def _spread(self, seeds: Seeds, pool: Pool, *, candidates: bool, **arguments: Any) -> list[Row]:
        order = np.argsort(-seeds.scores, kind="stable")
        [columns] = self.database.run(
            "fluxmem.spread",
            namespace=self.namespace,
            ids=[seeds.candidates[place].id for place in order],
            scores=seeds.scores[order].tolist(),
            episodes=list(pool.episodes[: self.settings.episodes]),
            skills=list(pool.skills),
            options={**self.settings.model_dump(include=SPREAD_OPTIONS), "candidates": candidates},
            **arguments,
        )
        return [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]


def _activation(query: str, rows: Sequence[Row], seeds: Seeds, signals: dict[str, str]) -> Activation:
    place = {candidate.id: index for index, candidate in enumerate(seeds.candidates)}
    hits = [_hit(row, seeds, place.get(row["ids"])) for row in rows]
    by_layer = {layer: tuple(hit for hit in hits if hit.layer is layer) for layer in Layer}
    return Activation(
        query, by_layer[Layer.SEMANTIC], by_layer[Layer.EPISODIC], by_layer[Layer.PROCEDURAL], signals
    )


def _hit(row: Row, seeds: Seeds, place: int | None) -> Hit:
    layer = Layer(row["layers"])
    dense = row["scores"] if layer is Layer.EPISODIC else None
    sparse = verified = None
    path, spread = list(row["paths"]), row["spreads"]
    if place is not None:
        fused, candidate = seeds.fused, seeds.candidates[place]
        dense, sparse, verified = (
            None if column is None else float(column[place])
            for column in (fused.dense, fused.sparse, fused.verified)
        )
        spread += float(seeds.inherited.total[place])
        path = ["candidate", *seeds.inherited.path(place, candidate), *path]
    return Hit(
        id=row["ids"],
        layer=layer,
        content=row["contents"],
        score=row["scores"],
        signals=Signals(dense, sparse, verified, spread),
        path=tuple(path),
        name=row["names"],
        external_id=row["external_ids"],
        source=row["sources"],
        speaker=row["speakers"],
        occurred_at=row["times"] and datetime.fromisoformat(row["times"]),
        metadata=decode_metadata(row["metadata"]),
    )
