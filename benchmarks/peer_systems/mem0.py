"""mem0 with `infer=False`: each message becomes a memory in its default store, Qdrant in a folder."""

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

FOLDER = tempfile.TemporaryDirectory(prefix="fluxmem-peers-mem0-")
# Read when mem0 is imported: neither its own folder nor its reports of use leave this run.
os.environ.update({"MEM0_DIR": FOLDER.name, "MEM0_TELEMETRY": "False"})

from mem0 import Memory  # noqa: E402

from benchmarks.peer_systems.serving import Known, serve  # noqa: E402

USER = "comparison"


class KnownEmbeddings(Known):
    """The vectors, in the shape of this system's embedder."""

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """Return the vector of one text."""
        del memory_action
        return self.vectors[text]


class Mem0:
    """One user's memories."""

    def __init__(self) -> None:
        store = {"collection_name": "turns", "path": str(Path(FOLDER.name) / "store")}
        settings = {
            "vector_store": {"provider": "qdrant", "config": {**store, "embedding_model_dims": 384}},
            # Never asked: nothing is inferred, and all vectors are known.
            "llm": {"provider": "openai", "config": {"api_key": "none"}},
            "embedder": {"provider": "openai", "config": {"api_key": "none"}},
            "history_db_path": str(Path(FOLDER.name) / "history.db"),
        }
        self.memory = Memory.from_config(settings)
        self.memory.embedding_model = self.known = KnownEmbeddings()

    def index(self, turns: Sequence[dict[str, str]], vectors: Sequence[list[float]]) -> None:
        """Add each turn by itself, since metadata belongs to a call."""
        self.known.add([turn["text"] for turn in turns], vectors)
        for turn in turns:
            message = {"role": "user", "content": turn["text"]}
            self.memory.add([message], user_id=USER, metadata={"turn": turn["id"]}, infer=False)

    def search(self, question: str, vector: list[float], top_k: int) -> list[str]:
        """Search the user's memories."""
        # It embeds a question without the blanks around it.
        self.known.add([question.strip()], [vector])
        found = self.memory.search(question, filters={"user_id": USER}, top_k=top_k, threshold=0.0)
        return [one["metadata"]["turn"] for one in found["results"]]

    def clear(self) -> None:
        """Delete the user's memories."""
        self.memory.delete_all(user_id=USER)


if __name__ == "__main__":
    serve(Mem0())
