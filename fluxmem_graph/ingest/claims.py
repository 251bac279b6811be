"""What a text claims about what: the same form and subject, another value.

Numbers, dates, names and negations are what two versions of one claim differ in. The rest is its form, in
which the subject stays as it is: what stands before the first verb of being, or begins the text. So "PR 260
was merged" and "PR 480 was merged" are two claims, and "PR 260 was not merged" contradicts the first.
"""

import hashlib
import re
import unicodedata
from dataclasses import dataclass
from typing import Final

# Longer texts claim many things, and never come again with one word changed.
LONGEST: Final = 2000

_TOKEN = re.compile(r"\w+(?:[-.,:'’/]\w+)*")
_DIGIT = re.compile(r"\d")
_NEGATION: Final = frozenset(
    """
    not never no none cannot nicht nie kein keine keinen non pas jamais nunca não нет не
    """.split()  # noqa: SIM905
)
_HELPING: Final = frozenset({"do", "does", "did"})
# What parts a subject from what is said about it.
_BEING: Final = frozenset(
    """
    is are was were be been has have had must can could will would shall should may might do does did ist sind
    war hat muss est sont était es son era tiene
    """.split()  # noqa: SIM905
)
_BEFORE_SUBJECT: Final = frozenset(
    """
    the a an our my your this that on in at der die das le la el
    """.split()  # noqa: SIM905
)
_CALENDAR: Final = frozenset(
    """
    january february march april may june july august september october november december monday tuesday
    wednesday thursday friday saturday sunday today tomorrow yesterday
    """.split()  # noqa: SIM905
)


@dataclass(frozen=True, slots=True)
class Claim:
    """The hash of a text's form and subject, and its values in order; the last value tells a negation."""

    form: str
    values: tuple[str, ...]


def claim_of(text: str) -> Claim | None:
    """Return what a text claims; None for one that is too long to be one claim."""
    if len(text) > LONGEST:
        return None
    parts, negated = _parts(_TOKEN.findall(unicodedata.normalize("NFC", text)))
    first_verb = next((place for place, part in enumerate(parts) if part.word in _BEING), -1)
    form: list[str] = []
    values: list[str] = []
    for place, part in enumerate(parts):
        if part.is_value and place > first_verb and not _begins(parts, place):
            values.append(part.word)
            form.append("~")
        else:
            form.append(part.word if part.is_value else _stem(part.word))
    joined = " ".join(form)
    return Claim(hashlib.sha256(joined.encode()).hexdigest(), (*values, "not" if negated else ""))


@dataclass(slots=True)
class _Part:
    """A word, or a value of one or more."""

    word: str
    is_value: bool


def _parts(tokens: list[str]) -> tuple[list[_Part], bool]:
    """Return words and values without negations, and whether those leave one."""
    parts: list[_Part] = []
    negated = joined = False
    words = [token.casefold().replace("’", "'") for token in tokens]
    for place, (token, word) in enumerate(zip(tokens, words, strict=True)):
        after = words[place + 1] if place + 1 < len(words) else ""
        if word in _NEGATION or word.endswith("n't"):
            negated, joined = not negated, False
        elif not (word in _HELPING and after in _NEGATION):
            is_value = _is_value(token, word, first=place == 0, after=after)
            # Neighbours make up one value, such as a date or a name of two words.
            if is_value and joined:
                parts[-1].word += f" {word}"
            else:
                parts.append(_Part(word, is_value))
            joined = is_value
    return parts, negated


def _is_value(token: str, word: str, *, first: bool, after: str) -> bool:
    if word in _CALENDAR or _DIGIT.search(token):
        return True
    # A capital at the beginning of a text is a name's only before a number: "PR 260".
    return token[0].isupper() and (not first or _DIGIT.search(after) is not None)


def _begins(parts: list[_Part], place: int) -> bool:
    return place == 0 or (place == 1 and parts[0].word in _BEFORE_SUBJECT)


def _stem(word: str) -> str:
    # "doesn't count" denies "counts".
    return word[:-1] if word.endswith("s") and len(word) > 3 else word
