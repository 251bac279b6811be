"""The lexical signal: BM25 over a pool of texts, never negative, for any script.

The only importer of rank-bm25 and snowballstemmer.
"""

import math
import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import chain
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt
import regex
import snowballstemmer
from rank_bm25 import BM25Okapi

_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Bopomofo}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u3005\u30fc"
)
_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+(?:'\p{L}+)*")
# The same for text that is all ASCII, in half the time: tokenising is most of a cold query's cost.
_ASCII_WORD = re.compile(r"[a-z0-9]+(?:'[a-z]+)*")
_BY_SPACING = regex.compile(rf"(?P<unspaced>[{_UNSPACED}]+)|[^{_UNSPACED}]+")

# Closed-class words only. Modals that are also names or months ("will", "may") stay searchable.
_STOP_WORDS = frozenset(
    """
    a an the this that these those some any each every either neither both all no such other another own same
    i me my mine myself you your yours yourself yourselves he him his himself she her hers herself it its
    itself we us our ours ourselves they them their theirs themselves
    who whom whose which what when where why how
    am is are was were be been being do does did doing have has had having would should could
    and or but nor so if because as than then while until although though
    of in on at by for from to into onto with without about against between through during before after
    above below up down out off over under upon
    not only very too just also there here again further once more most few
    cannot
    """.split()  # noqa: SIM905 (a list of 150 lines hides the groups)
)
# No word of a language is longer; a pasted blob must not keep the stemmer busy.
_LONGEST_STEMMED = 64

_stemmer_lock = Lock()


def tokenize(text: str) -> list[str]:
    """Return the searchable terms of a text: its words without English stop words, stemmed."""
    return list(_tokens(text))


def words(text: str) -> list[str]:
    """Return the words of a text, case and compatibility forms folded, cut at apostrophes.

    Scripts written without spaces become overlapping pairs of characters.
    """
    return [piece for word in _split(text) for part in _parts(word) for piece in part.split("'")]


def content_words(text: str) -> list[str]:
    """Return the distinct words of a text that carry meaning, in order."""
    return list(dict.fromkeys(word for word in words(text) if not _is_stop_word(word)))


# Lucene's, so that both paths weigh repetition alike.
K1 = 1.2


class Bm25Index:
    """BM25 over a fixed list of texts, with an idf that is never negative."""

    def __init__(
        self, texts: Sequence[str], analyse: Callable[[str], Sequence[str]] = tokenize, *, b: float = 0.75
    ) -> None:
        """Index the texts, any of which may be empty, by the terms that `analyse` finds.

        `b` is how far a longer text counts less, from 0 (not at all) to 1.
        """
        corpus = [analyse(text) for text in texts]
        self._analyse = analyse
        self._size = len(corpus)
        self._bm25 = _PositiveBm25(corpus, k1=K1, b=b) if any(corpus) else None

    def scores(self, query: str) -> npt.NDArray[np.float64]:
        """Return one score >= 0 per text, shape (len(texts),); 0 where no term is shared."""
        terms = self._analyse(query)
        if self._bm25 is None or not terms:
            return np.zeros(self._size)
        return np.asarray(self._bm25.get_scores(terms), dtype=np.float64)


class _PositiveBm25(BM25Okapi):  # type: ignore[misc]
    """Okapi BM25 with Lucene's idf: the classic one is negative for a term in over half of the texts."""

    def _calc_idf(self, nd: Mapping[str, int]) -> None:
        self.idf: dict[str, Any] = {
            term: math.log1p((self.corpus_size - count + 0.5) / (count + 0.5)) for term, count in nd.items()
        }


@lru_cache(maxsize=8192)
def _tokens(text: str) -> tuple[str, ...]:
    return tuple(chain.from_iterable(map(_terms, _split(text))))


def _split(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).casefold().replace("\u2019", "'")
    found: list[str] = _ASCII_WORD.findall(folded) if folded.isascii() else _WORD.findall(folded)
    return found


@lru_cache(maxsize=65536)
def _terms(word: str) -> tuple[str, ...]:
    return tuple(_stem(part) for part in _parts(word) if not _is_stop_word(part))


def _parts(word: str) -> list[str]:
    found: list[str] = []
    for match in _BY_SPACING.finditer(word):
        part = match.group()
        if match["unspaced"]:
            found.extend(part[i : i + 2] for i in range(max(1, len(part) - 1)))
        else:
            found.append(part)
    return found


def _is_stop_word(word: str) -> bool:
    # With their contractions: "she'll", "what's", "don't".
    return word.partition("'")[0] in _STOP_WORDS or word.endswith("n't")


def _stem(word: str) -> str:
    if len(word) > _LONGEST_STEMMED:
        return word
    # The stemmer keeps the word in its own fields while it works.
    with _stemmer_lock:
        return str(_stemmer().stemWord(word))


@cache
def _stemmer() -> Any:
    return snowballstemmer.stemmer("english")
