"""What a policy sees of a chunk: numbers from its words and what was said before, never its labels."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from math import log, log1p

import numpy as np
import numpy.typing as npt
import regex

from fluxmem_graph.ingest.entities import extract_entities
from fluxmem_graph.operations.rows import searched
from fluxmem_graph.retrieval.context import estimate_tokens
from fluxmem_graph.retrieval.sparse import tokenize, words
from fluxmem_graph.types import NewMemory

Vector = npt.NDArray[np.float32]

_SENTENCE_END = regex.compile(r"[.!?。！？]+")
_DIGIT = regex.compile(r"\p{N}")
_FIRST_PERSON = frozenset("i me my mine myself we us our ours".split())  # noqa: SIM905
_SECOND_PERSON = frozenset("you your yours yourself".split())  # noqa: SIM905
_TIME = frozenset(
    """
    yesterday today tomorrow tonight week weeks weekend month months year years day days ago last next since
    morning evening summer winter spring fall autumn monday tuesday wednesday thursday friday saturday sunday
    january february march april may june july august september october november december recently soon
    birthday christmas holiday
    """.split()  # noqa: SIM905
)
COURTESY = frozenset(
    """
    thanks thank hey hi hello bye wow great awesome cool nice glad sounds amazing good luck cheers congrats
    congratulations yeah sure absolutely definitely totally appreciate care later catch talk
    """.split()  # noqa: SIM905
)
_PLANS = frozenset("going plan planning plans gonna will 'll want hope hoping excited".split())  # noqa: SIM905
_LIFE = frozenset(
    """
    mom dad mother father sister brother son daughter wife husband kid kids family friend friends girlfriend
    boyfriend partner dog cat pet pets job work career school college team house home car name named called
    """.split()  # noqa: SIM905
)
# How readers mark the caption of a picture within a turn.
IMAGE = " [image: "


@dataclass(frozen=True, slots=True)
class Chunk:
    """One piece of a stream: its id within the stream, the memory that it would make, its unit vector."""

    id: str
    memory: NewMemory
    vector: Vector


@dataclass(slots=True)
class Scratchpad:
    """What is remembered beside the store: the last chunk, its place in its session, counts of words."""

    last: Chunk | None = None
    place: int = -1
    seen: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    def take(self, chunk: Chunk) -> None:
        """Go on to the next chunk."""
        same = self.last is not None and self.last.memory.session == chunk.memory.session
        self.place = self.place + 1 if same else 0
        self.seen += 1
        self.counts.update(set(tokenize(searched(chunk.memory))))
        self.last = chunk

    def rarities(self, memory: NewMemory) -> list[float]:
        """Return the idf of each distinct term of a memory among the chunks taken so far."""
        return [log((self.seen + 1) / max(self.counts[term], 1)) for term in set(tokenize(searched(memory)))]


def spoken(memory: NewMemory) -> str:
    """Return a memory's text without the captions of its pictures."""
    return memory.content.partition(IMAGE)[0].rstrip()


def cost(memory: NewMemory) -> int:
    """Return what a memory costs in tokens: its text as it is searched, after date and speaker or title."""
    return _cost(memory.content, memory.speaker or memory.title, memory.occurred_at)


# A policy weighs the same memories again and again.
@lru_cache(maxsize=65536)
def _cost(content: str, label: str | None, occurred_at: datetime | None) -> int:
    return estimate_tokens(searched(NewMemory(content, title=label, occurred_at=occurred_at)))


OWN: dict[str, Callable[[NewMemory, list[str], frozenset[str]], float]] = {
    "length": lambda memory, _, __: log(cost(memory)),
    "names": lambda memory, _, __: float(
        sum(name != memory.speaker for name in extract_entities(spoken(memory)))
    ),
    "digits": lambda memory, _, __: float(_DIGIT.search(spoken(memory)) is not None),
    "time": lambda _, __, distinct: float(len(distinct & _TIME)),
    "asks at the end": lambda memory, _, __: float(spoken(memory).endswith(("?", "？"))),
    "asks": lambda memory, _, __: float("?" in spoken(memory) or "？" in spoken(memory)),
    "exclamations": lambda memory, _, __: float(memory.content.count("!")),
    "first person": lambda _, every, __: _share(every, _FIRST_PERSON),
    "second person": lambda _, every, __: _share(every, _SECOND_PERSON),
    "picture": lambda memory, _, __: float(IMAGE.strip() in memory.content),
    "courtesy": lambda _, __, distinct: float(len(distinct & COURTESY)),
    "plans": lambda _, __, distinct: float(len(distinct & _PLANS)),
    "life": lambda _, __, distinct: float(len(distinct & _LIFE)),
    "past": lambda _, every, __: float(sum(word.endswith("ed") for word in every)),
    "sentences": lambda memory, _, __: float(len(_SENTENCE_END.findall(spoken(memory)))),
    "quotes": lambda memory, _, __: float('"' in memory.content),
}
BEFORE = (
    "idf sum", "idf mean", "idf max", "answers", "like the last", "place", "opens the session"
)  # fmt: skip
CHUNK_FEATURES = (*OWN, *BEFORE)


def _share(every: list[str], wanted: frozenset[str]) -> float:
    return sum(word in wanted for word in every) / max(len(every), 1)


def chunk_features(chunk: Chunk, scratchpad: Scratchpad | None) -> Vector:
    """Return the features of a chunk, shape (len(CHUNK_FEATURES),), and take it into the scratchpad.

    Without a scratchpad, all that rests on what came before is 0.
    """
    every = words(spoken(chunk.memory))
    distinct = frozenset(every)
    own = [measure(chunk.memory, every, distinct) for measure in OWN.values()]
    before = [0.0] * len(BEFORE)
    if scratchpad is not None:
        last = scratchpad.last
        scratchpad.take(chunk)
        # What another session said last is no context.
        near = last if scratchpad.place > 0 else None
        rare = scratchpad.rarities(chunk.memory)
        before = [
            sum(rare),
            sum(rare) / max(len(rare), 1),
            max(rare, default=0.0),
            float(near is not None and spoken(near.memory).endswith(("?", "？"))),
            float(near.vector @ chunk.vector) if near is not None else 0.0,
            log1p(scratchpad.place),
            float(scratchpad.place == 0),
        ]
    return np.asarray([*own, *before], np.float32)
