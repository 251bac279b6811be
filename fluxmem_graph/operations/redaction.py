"""Texts that must not stand anywhere any more: found, and taken out of what quotes them."""

import json
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import regex

from fluxmem_graph.operations.rows import NAME_LENGTH
from fluxmem_graph.retrieval.sparse import content_words

ERASED = "[erased]"
# Of `fluxmem.feedback`.
PAIRED = 5
# A shorter text, such as "Yes.", is nobody's: others say it too. It counts only as the whole of a text.
SHORTEST_QUOTED = 16
# What names, told runs and lines of skills end with where a text was too long for them.
CUT = "…"


@dataclass(frozen=True, slots=True)
class Markers:
    """Texts to find, and a name to find between other words in any case; `ids` are what is erased."""

    texts: frozenset[str]
    name: str | None = None
    ids: frozenset[str] = frozenset()
    _whole: frozenset[str] = field(init=False, repr=False, compare=False)
    _starts: dict[str, list[str]] = field(init=False, repr=False, compare=False)
    _named: Any = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        starts: dict[str, list[str]] = {}
        forms = {form for text in self.texts for form in _forms(text)}
        for text in sorted(forms, key=len, reverse=True):
            if len(text) >= SHORTEST_QUOTED:
                starts.setdefault(text[:SHORTEST_QUOTED], []).append(text)
        named = None if self.name is None else regex.compile(
            rf"(?<!\w){regex.escape(self.name)}(?!\w)", flags=regex.IGNORECASE
        )  # fmt: skip
        # A name that a bare driver left to the database is the beginning, without a sign that it was cut.
        object.__setattr__(self, "_whole", forms | {text[:NAME_LENGTH] for text in self.texts})
        object.__setattr__(self, "_starts", starts)
        object.__setattr__(self, "_named", named)

    def within(self, text: str) -> bool:
        """Tell whether a text holds one of them."""
        return self.without(text) != text

    def without(self, text: str) -> str:
        """Return the text with all of them replaced; time grows with its length, not with their number."""
        if text in self._whole:
            return ERASED
        if self._starts:
            text = self._without_quoted(text)
        return text if self._named is None else self._named.sub(ERASED, text)

    def _without_quoted(self, text: str) -> str:
        parts, begin, place = [], 0, 0
        while place <= len(text) - SHORTEST_QUOTED:
            length = self._quoted(text, place)
            if not length:
                place += 1
                continue
            parts += [text[begin:place], ERASED]
            begin = place = place + length
        return "".join([*parts, text[begin:]]) if parts else text

    def _quoted(self, text: str, place: int) -> int:
        """Return the length of the quotation at a place, be it whole or cut; 0 where there is none."""
        marks = self._starts.get(text[place : place + SHORTEST_QUOTED], ())
        if quoted := next((mark for mark in marks if text.startswith(mark, place)), ""):
            return len(quoted)
        length, cut = 0, place + SHORTEST_QUOTED - 1
        longest = place + len(marks[0]) + 1 if marks else 0
        # The text itself may hold that sign too: the last one counts.
        while (cut := text.find(CUT, cut + 1, longest)) >= 0:
            if not any(mark.startswith(text[place:cut]) for mark in marks):
                break
            length = cut + len(CUT) - place
        return length


def _forms(text: str) -> set[str]:
    """Return a text as others quote it: as it is, on one line, and within the arguments of a call."""
    called = (json.dumps(text, ensure_ascii=plain)[1:-1] for plain in (True, False))
    return {text, " ".join(text.split()), *called} - {""}


def redacted(properties: Iterable[tuple[str, str, Any]], markers: Markers) -> dict[str, Any]:
    """Return those plain properties (name, form, value) that hold a marker or an erased id, without it."""
    changed = {}
    for name, form, value in properties:
        own = () if name == "metadata" else _WORDS
        if form == "plain" and name not in _NAMES and (clean := _clean(value, markers, own)) != value:
            changed[name] = clean
    return changed


# Words of this project, in nodes and in what the log says of them: a subject may be called "Active".
_WORDS = frozenset({"status", "layer", "review", "kind", "by", "made_by"})
# What nodes are known by, too: a digest or an address, or the caller's own.
_NAMES = _WORDS | {"id", "key", "seq", "source_id", "run_id", "skill_id", "content_hash", "embedding_model"}


def _clean(value: Any, markers: Markers, own: Collection[str]) -> Any:
    if isinstance(value, list):
        return [_clean(item, markers, own) for item in value]
    if not isinstance(value, str):
        return value
    document = _document(value)
    if document is None:
        return markers.without(value)
    clean = _walk(document, markers) | {name: document[name] for name in document.keys() & own}
    if lost := sum(id_ in markers.ids for id_ in document.get("used", [])[:PAIRED]):
        # The pairs of a feedback are those of its first facts; a later one must not take their place.
        clean["paired"] = document.get("paired", PAIRED) - lost
    # An untouched document keeps its bytes.
    return value if clean == document else json.dumps(clean, ensure_ascii=False)


def _document(text: str) -> dict[str, Any] | None:
    if not text.startswith("{"):
        return None
    try:
        found = json.loads(text, strict=False)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _walk(value: Any, markers: Markers) -> Any:
    if isinstance(value, str):
        return markers.without(value)
    if isinstance(value, list):
        return [_walk(item, markers) for item in value if not _names_erased(item, markers.ids)]
    if isinstance(value, dict):
        kept = {
            name: _walk(item, markers) for name, item in value.items() if not _names_erased(item, markers.ids)
        }
        if "words" in kept and kept.get("task") != value.get("task"):
            kept["words"] = content_words(kept["task"])
        return kept
    return value


def _names_erased(item: Any, ids: Collection[str]) -> bool:
    return item in ids if isinstance(item, str) else isinstance(item, dict) and item.get("id") in ids
