"""Vectors made anew from what the graph holds: for memories that lack theirs, and for another embedder."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.errors import ConfigurationError, Conflict
from fluxmem_graph.graph import schema
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.operations.embedded import embed_episodes, embed_memories
from fluxmem_graph.operations.rows import caption
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.types import Layer, NewEpisode, NewMemory, NewStep, Reembedded

PAGE = 256
# Vectors are only copied then.
EXCHANGE_PAGE = 1000

Progress = Callable[[int, str], None]
"""Called with how many memories are done, and what is being done."""


@dataclass(frozen=True, slots=True)
class Embedding:
    """Gives the memories of namespaces vectors of one embedder; `beside`: next to the ones in use.

    `marked`: only to those of which a text was erased.
    """

    database: Database
    embedder: Embedder
    beside: bool = False
    marked: bool = False

    def run(self, namespace: str) -> Iterator[int]:
        """Embed what has no vector of this embedder, and yield how many were done after each page."""
        after_id = ""
        while rows := self._page(namespace, after_id):
            after_id = rows[-1]["id"]
            embedded = [
                *self._semantic([row for row in rows if row["layer"] != Layer.EPISODIC]),
                *self._episodic([row for row in rows if row["layer"] == Layer.EPISODIC]),
            ]
            done = self.database.run(
                "fluxmem.internal.embed",
                namespace=namespace,
                model=self.embedder.name,
                rows=embedded,
                beside=self.beside,
            )
            yield int(done[0]["embedded"])

    def _page(self, namespace: str, after_id: str) -> list[Row]:
        return self.database.run(
            "fluxmem.internal.unembedded",
            namespace=namespace,
            model=self.embedder.name,
            dimension=self.embedder.dimension,
            beside=self.beside,
            marked=self.marked,
            afterId=after_id,
            top=PAGE,
        )

    def _semantic(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        matrix = embed_memories(self.embedder, [_memory(row) for row in rows])
        columns = zip(rows, vectors(matrix), strict=True)
        return [{"id": row["id"], "of": row["of"], "embedding": vector} for row, vector in columns]

    def _episodic(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        reminding, trajectory = embed_episodes(self.embedder, [_episode(row) for row in rows])
        columns = zip(rows, vectors(reminding), vectors(trajectory), strict=True)
        return [
            {"id": row["id"], "of": row["of"], "embedding": vector, "trajectory_embedding": path}
            for row, vector, path in columns
        ]


def reembed(database: Database, embedder: Embedder, progress: Progress) -> Reembedded:
    """Give all memories of the database vectors of another embedder, and then use those.

    The new vectors are written beside the ones in use, with an index of their own; only when all are there
    do they change places. Until then searches work as before, and during the change by words and links
    alone. Run again after a crash it goes on where it was. Raises Conflict while a change to another embedder
    is half done, ConfigurationError for a database that has no schema yet, EmbeddingError and Unavailable.
    """
    schemas = database.run("fluxmem.internal.schema")
    if not schemas:
        raise ConfigurationError(
            f"the database at {database.uri} has no schema yet, and so no vectors to change: make it with "
            f"`fluxmem migrate` and FLUXMEM_EMBEDDER={embedder.name}"
        )
    recorded = schemas[-1]
    former, exchanging = recorded["embedding_model"], recorded["exchanging"]
    target = (embedder.name, embedder.dimension)
    if not exchanging and (former, recorded["dimension"]) == target:
        return Reembedded(former, embedder.name, 0)
    if exchanging and (former, recorded["dimension"]) != target:
        raise Conflict(
            f"a change to {former} is half done; finish it with `fluxmem reembed --model {former}`"
        )
    embedded = 0 if exchanging else _beside(database, embedder, progress)
    _exchange(database, embedder, progress, embedded)
    return Reembedded(None if exchanging else former, embedder.name, embedded)


def _beside(database: Database, embedder: Embedder, progress: Progress) -> int:
    schema.prepare_next_index(database, embedder.dimension)
    beside, embedded, before = Embedding(database, embedder, beside=True), 0, -1
    # Again until nothing is left: others may write meanwhile.
    while embedded > before:
        before = embedded
        for namespace in _tenants(database):
            for done in beside.run(namespace):
                embedded += done
                progress(embedded, "embedding")
    return embedded


def _exchange(database: Database, embedder: Embedder, progress: Progress, embedded: int) -> None:
    progress(embedded, "exchanging")
    state = {"embeddingModel": embedder.name, "dimension": embedder.dimension}
    database.run("fluxmem.internal.recordEmbedder", **state, exchanging=True)
    indexes = {row["name"]: row["dimension"] for row in database.run("fluxmem.internal.indexes")}
    if indexes.get("memory_embedding") != embedder.dimension:
        schema.renew_vector_index(database, embedder.dimension)
    for namespace in _tenants(database):
        last: str | None = ""
        while last is not None:
            last = database.run(
                "fluxmem.internal.exchange",
                namespace=namespace,
                model=embedder.name,
                afterId=last,
                top=EXCHANGE_PAGE,
            )[0]["last"]
        # What a client of the former embedder wrote in between.
        for _ in Embedding(database, embedder).run(namespace):
            pass
    schema.await_vector_index(database)
    database.run("fluxmem.internal.recordEmbedder", **state, exchanging=False)
    schema.drop_next_index(database)


def _tenants(database: Database) -> list[str]:
    return [row["name"] for row in database.run("fluxmem.internal.namespaces")]


def _memory(row: Row) -> NewMemory:
    # A rewriting or skill was embedded as it reads, a fact after who said it or what it is about.
    if row["rewritten"] or row["layer"] == Layer.PROCEDURAL:
        return NewMemory(row["content"])
    title = None if row["name"] == caption(row["content"]) else row["name"]
    return NewMemory(row["content"], speaker=row["speaker"], title=title)


def _episode(row: Row) -> NewEpisode:
    steps = zip(row["observations"], row["actions"], strict=True)
    return NewEpisode(row["task"], tuple(NewStep(observation, action) for observation, action in steps))
