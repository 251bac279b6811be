"""Text and Markdown files, cut into chunks."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import regex

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.ingest.options import ReadOptions
from fluxmem_graph.ingest.values import clean_text
from fluxmem_graph.types import NewMemory

# Counts like a model would, without loading one: long words are several, and so is each character of a script
# without spaces.
_WORD = regex.compile(r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}]|[^\W_]{1,12}|[^\w\s]")
_FRONT_MATTER = regex.compile(r"\A---\n(?s:.*?)\n---\n")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a file under one heading; `path` holds the headings above it, outermost first."""

    path: tuple[str, ...]
    body: str


def count_words(text: str) -> int:
    """Return about how many tokens a model would see."""
    return sum(1 for _ in _WORD.finditer(text))


def read_text(text: str, source: str, options: ReadOptions, *, markdown: bool) -> Iterator[NewMemory]:
    """Cut a file's text into memories, in order.

    They have no id of their own: an edited file adds its new chunks, and equal text stays one memory. The
    title of a Markdown chunk is its heading. Raises InvalidInput.
    """
    import semchunk

    text = clean_text(text)
    chunker = semchunk.chunkerify(count_words, options.chunk_words, cache_maxsize=4096)
    number = 0
    for section in sections(text) if markdown else [Section((), text)]:
        for chunk in chunker(section.body):
            metadata: dict[str, object] = {"chunk": number}
            if len(section.path) > 1:
                metadata["section"] = " > ".join(section.path)
            title = section.path[-1] if section.path else None
            yield NewMemory(content=chunk.strip(), source=source, title=title, metadata=metadata)
            number += 1


def sections(text: str) -> list[Section]:
    """Split Markdown at its headings; a heading with nothing under it is its own body."""
    from markdown_it import MarkdownIt

    # The parser counts lines by \n alone.
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    lines = [f"{line}\n" for line in text.split("\n")]
    # Front matter would be read as a heading, since a line of dashes underlines one; it keeps its place.
    tokens = MarkdownIt().parse(_FRONT_MATTER.sub(lambda matter: "\n" * matter.group().count("\n"), text))
    heads = [
        (int(token.tag[1:]), inline.content, *(token.map or (0, 0)))
        for token, inline in pairwise(tokens)
        if token.type == "heading_open" and token.level == 0
    ]
    found = [Section((), "".join(lines[: heads[0][2]] if heads else lines))]
    path: list[tuple[int, str]] = []
    for place, (level, title, _, start) in enumerate(heads):
        stop = heads[place + 1][2] if place + 1 < len(heads) else len(lines)
        path = [*((above, name) for above, name in path if above < level), (level, title)]
        body = "".join(lines[start:stop])
        names = tuple(name for _, name in path if name)
        is_parent = place + 1 < len(heads) and heads[place + 1][0] > level
        found.append(Section(names, body if body.strip() or is_parent else title))
    return [section for section in found if section.body.strip()]


def decode_text(data: bytes) -> str:
    """Return UTF-8 bytes as text, without a byte order mark. Raises InvalidInput."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start}; convert the file first") from None
