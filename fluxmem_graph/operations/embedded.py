"""Which texts stand for a memory in the vector index."""

from collections.abc import Sequence

from fluxmem_graph.errors import EmbeddingError
from fluxmem_graph.ingest.actions import told_and_called
from fluxmem_graph.operations.rows import labelled
from fluxmem_graph.protocols import Embedder, FloatMatrix
from fluxmem_graph.types import NewEpisode, NewMemory, NewStep

# Later observations are mostly what tools answered, which similar runs do not share.
FIRST_STEPS = 2
# Of a longer run the beginning tells the kind of task, and each step more would cost a share of an embedding.
TOLD_STEPS = 200


def embed_memories(embedder: Embedder, memories: Sequence[NewMemory]) -> FloatMatrix:
    """Return one unit vector per memory, shape (len(memories), dimension). Raises EmbeddingError."""
    return embed_texts(embedder, [labelled(memory) for memory in memories])


def embed_episodes(embedder: Embedder, episodes: Sequence[NewEpisode]) -> tuple[FloatMatrix, FloatMatrix]:
    """Return two unit vectors per episode: to be reminded by (task, first observations), and its trajectory.

    Each has shape (len(episodes), dimension). Raises EmbeddingError.
    """
    texts = [reminding_text(episode.task, episode.steps) for episode in episodes]
    texts += [trajectory_text(episode.task, episode.steps) for episode in episodes]
    matrix = embed_texts(embedder, texts)
    return matrix[: len(episodes)], matrix[len(episodes) :]


def embed_texts(embedder: Embedder, texts: Sequence[str]) -> FloatMatrix:
    """Return one unit vector per text, shape (len(texts), dimension). Raises EmbeddingError."""
    # The database stores a vector of another length without a word and leaves it out of the index.
    matrix = embedder.embed(texts)
    if matrix.shape != (len(texts), embedder.dimension):
        raise EmbeddingError(
            f"{embedder.name} returned an array of shape {matrix.shape} for {len(texts)} texts; "
            f"it promised {embedder.dimension} dimensions"
        )
    return matrix


def reminding_text(task: str, steps: Sequence[NewStep]) -> str:
    """Return what an observation at the start of a similar run is compared with."""
    return "\n".join(dict.fromkeys([task, *(step.observation for step in steps[:FIRST_STEPS])]))


def trajectory_text(task: str, steps: Sequence[NewStep]) -> str:
    """Return the task, what else the agent was told, and what it did (used to cluster, section 3.3).

    Of an agent that calls tools their names; what tools answered and were given, and what it said, stay out:
    they differ between runs of one task more than between tasks. Of a long run the first 200 steps count.
    """
    steps = steps[:TOLD_STEPS]
    pairs = list(told_and_called(steps))
    tools = any(call for _, call in pairs)
    lines = [task]
    for step, (told, call) in zip(steps, pairs, strict=True):
        done = call.tool if call else "" if tools else step.action
        lines += [text for text in (told, done) if text]
    return "\n".join(lines)
