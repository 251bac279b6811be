"""Names in a text, by a small rule without a model.

A name is a run of capitalised words, with up to two joining words (of, the, de, and, ...) between them
and numbers after them. Common words at its ends are cut off, so that the first word of a sentence is no
name by its place alone; a run of three words or more also stays whole ("As You Like It"). Where `and`,
`for`, `in`, `on`, `to` or `&` join two names, each is one as well. A title with its subtitle after a colon
and a name with its rank ("Arthur Wellesley, 1st Duke of Wellington") are whole names too, as are capitalised
quotations. Bare numbers are none. Scripts without capitals give only quoted names.
"""

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import regex

from fluxmem_graph.ingest.words import COMMON_WORDS

_START = r"[\p{Lu}\p{Lt}]"
_REST = r"[\w'’.\-&]*"
_WORD = regex.compile(r"\w+(?:['’]\w+)*")
_RUN = regex.compile(
    rf"{_START}{_REST}"
    rf"(?:\s+(?:(?:of|the|de|la|van|von|der|di|da|du|and|for|in|on|to|&)\s+){{0,2}}[\p{{Lu}}\p{{Lt}}0-9]{_REST})*"
)
_BETWEEN_NAMES = regex.compile(r"\s+(?:and|for|in|on|to|&)\s+(?:the\s+)?")
# From the start of a word, and of few words: else the time grows with the square of a text in capitals.
_SHORT_RUN = rf"{_START}{_REST}(?:\s+(?:(?:of|the|de)\s+){{0,2}}{_START}{_REST}){{0,8}}"
_TWO_PARTS = regex.compile(rf"(?<![\w'’.\-&]){_SHORT_RUN}(?::\s+|,\s+\d+(?:st|nd|rd|th)\s+){_SHORT_RUN}")
_QUOTED = regex.compile(r"[\"“„«《「『]([^\"“”„«»《》「」『』\n]{2,80})[\"”“»》」』]")
_PARENTHESIS = regex.compile(r"\s*\([^()]*\)\s*$")
_LONGEST_TITLE = 6
_ARTICLES = frozenset({"the", "a", "an"})


# The same names come up again and again in a corpus.
@lru_cache(maxsize=16384)
def entity_key(name: str) -> str:
    """Return the form in which two spellings of a name are the same entity.

    NFKC, case-folded, words joined by single spaces, without punctuation, possessive 's or leading article.
    White space inside a name stays, in every script: `스코프랩스` and `스코프 랩스` are two entities.
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold())
    words = [_without_possessive(word) for word in _WORD.findall(folded)]
    if len(words) > 1 and words[0] in _ARTICLES and not COMMON_WORDS.issuperset(words[1:]):
        words = words[1:]
    # A name of symbols alone, such as an emoji, is its own key.
    return " ".join(words) or " ".join(folded.split())


def title_names(title: str | None) -> list[str]:
    """Return the names that a title stands for: itself, and without a closing parenthesis."""
    whole = (title or "").strip()
    return [name for name in dict.fromkeys((whole, _PARENTHESIS.sub("", whole))) if name]


def extract_entities(text: str) -> list[str]:
    """Return the names in a text, each entity once, as first written."""
    names: dict[str, str] = {}
    for name in (*_in_runs(text), *_whole(text)):
        key = entity_key(name)
        if key and not key.replace(" ", "").isdecimal():
            names.setdefault(key, name)
    return list(names.values())


def title_candidates(text: str) -> list[str]:
    """Return the keys of every run of one to six words that starts with a capital or a digit, each once.

    Titles hold words that no rule for names would take ("Who's That Girl?"), so any of these may be one.
    """
    found = list(_WORD.finditer(text))
    keys: dict[str, None] = {}
    for start, first in enumerate(found):
        if first.group()[0].isupper() or first.group()[0].isdigit():
            for last in found[start : start + _LONGEST_TITLE]:
                run = text[first.start() : last.end()]
                if last is not first or not (_is_common(run) or run.isdecimal()):
                    keys[entity_key(run)] = None
    return list(keys)


def _in_runs(text: str) -> Iterator[str]:
    for match in _RUN.finditer(text):
        yield from _names_of_run(match.group())


@lru_cache(maxsize=16384)
def _names_of_run(run: str) -> tuple[str, ...]:
    run = _without_possessive(run.rstrip(".-&'’"))
    parts = (_without_common_ends(part) for part in (run, *_BETWEEN_NAMES.split(run)))
    # Two letters are mostly initials.
    names = [name for name in parts if len(name) > 2]
    if len(_WORD.findall(run)) > 2:
        names.append(run)
    return tuple(dict.fromkeys(names))


def _whole(text: str) -> Iterator[str]:
    for match in _TWO_PARTS.finditer(text):
        yield match.group().rstrip(".-&'’")
    for match in _QUOTED.finditer(text):
        quoted = match.group(1).strip(" ,.")
        # A lower-case quotation is speech or emphasis, not a name.
        if quoted and not quoted[0].islower() and _without_common_ends(quoted):
            yield quoted


def _without_common_ends(phrase: str) -> str:
    words = list(_WORD.finditer(phrase))
    while words and _is_common(words[0].group()):
        del words[0]
    while words and _is_common(words[-1].group()):
        del words[-1]
    return _without_possessive(phrase[words[0].start() : words[-1].end()]) if words else ""


@lru_cache(maxsize=16384)
def _is_common(word: str) -> bool:
    plain = word.casefold().replace("’", "'")
    return plain in COMMON_WORDS or _without_possessive(plain) in COMMON_WORDS


def _without_possessive(name: str) -> str:
    return name[:-2] if name.endswith(("'s", "’s", "'S", "’S")) else name
