"""A small made-up stream: facts among small talk, each fact asked for at the end."""

from fluxmem_graph.embedding import HashingEmbedder
from fluxmem_graph.policies.features import Chunk
from fluxmem_graph.policies.policy import Stream
from fluxmem_graph.policies.recall import Asked, Exam
from fluxmem_graph.types import NewMemory

THINGS = (
    "bicycle", "piano", "telescope", "canoe", "tent", "camera", "guitar", "kettle", "lantern", "compass",
    "sofa", "mirror", "blanket", "printer", "violin", "hammock",
)  # fmt: skip
TALK = ("Hey, how are you?", "Wow, that sounds great!", "Thanks, take care!", "What do you like about it?")
EMBEDDER = HashingEmbedder()


def stream(facts: int = 12, name: str = "made up") -> Stream:
    """One fact per four chunks; the questions ask for each fact."""
    chunks: list[Chunk] = []
    asked: list[Asked] = []
    for number in range(facts):
        thing = THINGS[number % len(THINGS)]
        texts = [*TALK[:2], f"I bought a {thing} in 19{number + 10} yesterday.", TALK[3]]
        for place, text in enumerate(texts):
            memory = NewMemory(text, speaker=("Ada", "Ben")[place % 2], session=f"s{number // 4}")
            chunks.append(Chunk(f"c{len(chunks)}", memory, EMBEDDER.embed([text])[0]))
        question = f"When was the {thing} bought, 19{number + 10}?"
        asked.append(Asked(question, EMBEDDER.embed([question])[0], frozenset({f"c{len(chunks) - 2}"})))
    return Stream(name, tuple(chunks), Exam(asked, {chunk.id: chunk.memory for chunk in chunks}))
