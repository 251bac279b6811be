"""Vectors made anew from what the graph holds: for memories that lack theirs, and for another embedder."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.operations.embedded import embed_episodes, embed_memories
from fluxmem_graph.operations.rows import caption
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.types import Layer, NewEpisode, NewMemory, NewStep

PAGE = 256


@dataclass(frozen=True, slots=True)
class Embedding:
    """Gives the memories of namespaces vectors of one embedder; `beside`: next to the ones in use."""

    database: Database
    embedder: Embedder
    beside: bool = False

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
            afterId=after_id,
            top=PAGE,
        )

    def _semantic(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        matrix = embed_memories(self.embedder, [_memory(row) for row in rows])
        return [
            {"id": row["id"], "embedding": vector} for row, vector in zip(rows, vectors(matrix), strict=True)
        ]

    def _episodic(self, rows: Sequence[Row]) -> list[dict[str, Any]]:
        reminding, trajectory = embed_episodes(self.embedder, [_episode(row) for row in rows])
        columns = zip(rows, vectors(reminding), vectors(trajectory), strict=True)
        return [
            {"id": row["id"], "embedding": vector, "trajectory_embedding": path}
            for row, vector, path in columns
        ]


def _memory(row: Row) -> NewMemory:
    # A rewriting was embedded as it reads, a fact after who said it or what it is about.
    if row["rewritten"]:
        return NewMemory(row["content"])
    title = None if row["name"] == caption(row["content"]) else row["name"]
    return NewMemory(row["content"], speaker=row["speaker"], title=title)


def _episode(row: Row) -> NewEpisode:
    steps = zip(row["observations"], row["actions"], strict=True)
    return NewEpisode(row["task"], tuple(NewStep(observation, action) for observation, action in steps))
