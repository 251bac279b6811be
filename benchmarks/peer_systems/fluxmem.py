"""fluxmem: an ordinary ingest with log, entities and order; asked from Python or by CALL."""

import sys
import uuid
from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np

from benchmarks.peer_systems.serving import Known, serve
from fluxmem_graph import FluxMem, NewMemory, load_settings
from fluxmem_graph.protocols import FloatMatrix

CALL = """CALL fluxmem.activate($namespace, $text, $embedding) YIELD external_id
RETURN external_id AS id"""


class KnownEmbedder(Known):
    """The vectors, in the shape of this library's embedder."""

    name, dimension = "all-MiniLM-L6-v2", 384

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension)."""
        return np.array([self.vectors[text] for text in texts], dtype=np.float32)


class Flux:
    """One namespace."""

    def __init__(self, way: str) -> None:
        self.known, self.way = KnownEmbedder(), way
        settings = load_settings(namespace=f"peers-{uuid.uuid4().hex}")
        self.memory = FluxMem.connect(settings, embedder=self.known)

    def index(self, turns: Sequence[dict[str, Any]], vectors: Sequence[list[float]]) -> None:
        """Ingest the turns."""
        self.known.add([turn["text"] for turn in turns], vectors)
        report = self.memory.ingest(to_memory(turn) for turn in turns)
        assert report.created == len(turns), report

    def search(self, question: str, vector: list[float], top_k: int) -> list[str]:
        """Activate memory."""
        if self.way == "call":
            about = {"namespace": self.memory.namespace, "text": question, "embedding": vector}
            return [row["id"] for row in self.memory.database.call(CALL, **about)][:top_k]
        self.known.add([question], [vector])
        found = self.memory.activate(question, top_k=top_k)
        return [hit.external_id for hit in found.facts if hit.external_id]

    def clear(self) -> None:
        """Erase the namespace."""
        self.memory.erase_namespace()


def to_memory(turn: dict[str, Any]) -> NewMemory:
    """Return the turn as it would be ingested from its file."""
    fields = {name: turn[name] for name in ("content", "source", "speaker", "title", "metadata", "session")}
    moment = turn["occurred_at"] and datetime.fromisoformat(turn["occurred_at"])
    return NewMemory(external_id=turn["id"], occurred_at=moment, **fields)


if __name__ == "__main__":
    serve(Flux(sys.argv[1]))
