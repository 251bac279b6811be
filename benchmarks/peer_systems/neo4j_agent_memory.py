"""neo4j-agent-memory: its short-term memory, messages added in batches, without extraction of entities."""

import asyncio
from collections.abc import Sequence

from neo4j_agent_memory import MemoryClient, MemorySettings
from neo4j_agent_memory.config.settings import ExtractionConfig, ExtractorType, Neo4jConfig
from pydantic import SecretStr

from benchmarks.peer_systems.serving import Known, serve, server_login

SESSION = "comparison"


class KnownEmbeddings(Known):
    """The vectors, in the shape of this system's embedding provider."""

    dimensions = 384
    model = "all-MiniLM-L6-v2"

    async def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return the vector of each text."""
        return [self.vectors[text] for text in texts]

    async def embed_one(self, text: str) -> list[float]:
        """Return the vector of one text."""
        return self.vectors[text]


class AgentMemory:
    """One session of messages."""

    def __init__(self) -> None:
        uri, user, password = server_login()
        self.loop = asyncio.new_event_loop()
        self.known = KnownEmbeddings()
        settings = MemorySettings(
            backend="bolt",
            neo4j=Neo4jConfig(uri=uri, username=user, password=SecretStr(password)),
            embedding=self.known,
            llm=None,
            extraction=ExtractionConfig(extractor_type=ExtractorType.NONE, enable_llm_fallback=False),
        )
        self.client = MemoryClient(settings)
        self.loop.run_until_complete(self.client.connect())

    def index(self, turns: Sequence[dict[str, str]], vectors: Sequence[list[float]]) -> None:
        """Add all messages, each with its turn's id as metadata."""
        self.known.add([turn["text"] for turn in turns], vectors)
        messages = [
            {"role": "user", "content": turn["text"], "metadata": {"turn": turn["id"]}} for turn in turns
        ]
        adding = self.client.short_term.add_messages_batch(SESSION, messages, batch_size=500)
        self.loop.run_until_complete(adding)

    def search(self, question: str, vector: list[float], top_k: int) -> list[str]:
        """Search all messages, without a threshold."""
        self.known.add([question], [vector])
        asking = self.client.short_term.search_messages(question, limit=top_k, threshold=0.0)
        return [message.metadata["turn"] for message in self.loop.run_until_complete(asking)]

    def clear(self) -> None:
        """Delete the session."""
        self.loop.run_until_complete(self.client.short_term.clear_session(SESSION))


if __name__ == "__main__":
    serve(AgentMemory())
