"""A made-up dialogue of any length, with vectors that lie as those of real turns do.

Some bases are embedded once by the real model. A turn is a base with a detail of its own, and its vector is
the base's with noise: the index meets the neighbourhoods of a real model, and a turn more costs no embedding.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from fluxmem_graph import NewMemory
from fluxmem_graph.embedding.vectors import unit_rows
from fluxmem_graph.protocols import Embedder, FloatMatrix

OPENINGS = [
    "Guess what, yesterday", "Honestly,", "You won't believe it, but last weekend",
    "As I said on the phone,", "It took me weeks, but in the end", "Sorry that I'm late,",
    "Just between us,", "Before breakfast today", "While my sister was visiting,", "After all that rain,",
    "During the holidays", "Without telling anyone,",
]  # fmt: skip
VERBS = [
    "bought", "sold", "lost", "found", "repaired", "borrowed", "painted", "photographed", "cleaned",
    "admired", "ordered", "measured", "described", "hid", "replaced", "recommended",
]  # fmt: skip
THINGS = [
    "kayak", "violin", "garden fence", "wedding cake", "telescope", "crime novel", "patchwork quilt",
    "motorbike", "aquarium", "espresso machine", "tax form", "sourdough starter", "running shoes", "tent",
    "piano", "greenhouse", "chess set", "pair of glasses", "camera lens", "puppy", "bookshelf",
    "winter coat", "train ticket", "laptop", "recipe for dumplings", "vaccination record", "sailing map",
    "drum kit", "solar panel", "rose bush",
]  # fmt: skip
PLACES = [
    "Lisbon", "Oslo", "Kyoto", "Quito", "Cairo", "Perth", "Turin", "Bergen", "Lima", "Accra", "Porto",
    "Hanoi", "Tunis", "Riga", "Leeds", "Osaka", "Denver", "Bristol", "Seville", "Nairobi",
]  # fmt: skip
REASONS = [
    "because the old one had broken", "since my doctor advised it", "although it was far too expensive",
    "so that the children have something to do", "because our neighbours kept asking about it",
    "even if my parents think it is silly", "since the class at the community centre starts soon",
    "because I want to enter a competition", "as a surprise for an anniversary",
    "and it changed my whole week",
]  # fmt: skip
DETAILS = [
    "the one from {name} was better", "{name} sells them for {number} now",
    "we met the people of {name} again", "{name} opens at {number}", "the number of {name} is {number}",
    "somebody at {name} remembered you",
]  # fmt: skip
SYLLABLES = ["ba", "de", "fi", "go", "ku", "la", "me", "ni", "po", "ru", "sa", "te", "vi", "xo", "zu", "har"]
SPEAKERS = ["Ada", "Bo"]
SEAM = " By the way, "
SESSION = 20
NEARNESS = 0.9


@dataclass(frozen=True, slots=True)
class Base:
    """What turns say, and a question about it."""

    statement: str
    question: str


def make_bases(count: int, seed: int) -> list[Base]:
    """Return made-up statements, each with its question."""
    pick = random.Random(seed)
    return [_make_base(pick) for _ in range(count)]


def _make_base(pick: random.Random) -> Base:
    verb, thing, place = pick.choice(VERBS), pick.choice(THINGS), pick.choice(PLACES)
    statement = f"{pick.choice(OPENINGS)} I {verb} a {thing} in {place}"
    statement += f" {pick.choice(REASONS)}." if pick.random() < 0.7 else "."
    statement += (
        f" Have you ever {pick.choice(VERBS)} a {pick.choice(THINGS)}?" if pick.random() < 0.4 else ""
    )
    return Base(statement, f"Why was a {thing} {verb} in {place}?")


def make_turns(bases: Sequence[Base], count: int, seed: int) -> Iterator[NewMemory]:
    """Yield dialogue turns of 14 to 41 words in sessions of 20; more turns begin with the same ones."""
    pick = random.Random(seed)
    for number in range(count):
        detail = pick.choice(DETAILS).format(name=_coined(pick), number=pick.randrange(10_000))
        yield NewMemory(
            f"{pick.choice(bases).statement}{SEAM}{detail}.",
            external_id=f"t{number}",
            source="benchmark",
            speaker=pick.choice(SPEAKERS),
            session=str(number // SESSION),
        )


def _coined(pick: random.Random) -> str:
    # As in real texts, a few names come up all the time and most of them hardly ever.
    number = 256 + int(10 ** (5 * pick.random()))
    name = ""
    while number:
        number, syllable = divmod(number, len(SYLLABLES))
        name += SYLLABLES[syllable]
    return name.capitalize()


class PerturbedEmbedder:
    """Gives each turn its base's vector with noise, at a cosine of about 0.9, and each question likewise."""

    def __init__(self, embedder: Embedder, bases: Sequence[Base], seed: int) -> None:
        """Embed the bases; name and dimension are those of the embedder."""
        self.name, self.dimension = embedder.name, embedder.dimension
        texts = list(dict.fromkeys(text for base in bases for text in (base.statement, base.question)))
        self._vectors = embedder.embed(texts)
        self._row = {text: row for row, text in enumerate(texts)}
        self._random = np.random.default_rng(seed)

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension), rows of unit length."""
        bases = self._vectors[[self._row[_base_text(text)] for text in texts]]
        return perturbed(bases, self._random)


def perturbed(rows: npt.NDArray[np.floating[Any]], generator: np.random.Generator) -> FloatMatrix:
    """Return the rows with noise, at a cosine of about 0.9 to them; noise alone where they are zero."""
    noise = unit_rows(generator.normal(size=rows.shape))
    return unit_rows(NEARNESS * rows + np.sqrt(1 - NEARNESS**2) * noise)


def _base_text(text: str) -> str:
    # What is embedded starts with the speaker; a run's text starts with its task.
    first = text.partition("\n")[0]
    said = first.partition(": ")[2] or first
    return said.partition(SEAM)[0]
