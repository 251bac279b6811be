"""Which texts stand for a memory in the vector index."""

from collections.abc import Sequence

from fluxmem_graph.operations.rows import spoken
from fluxmem_graph.protocols import Embedder, FloatMatrix
from fluxmem_graph.types import NewMemory


def embed_memories(embedder: Embedder, memories: Sequence[NewMemory]) -> FloatMatrix:
    """Return one unit vector per memory, shape (len(memories), dimension). Raises EmbeddingError."""
    return embedder.embed([spoken(memory) for memory in memories])
