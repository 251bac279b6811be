"""How files are read, and what a read has to say beside its items."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.types import Failure

# What each meaning is called in a row, best first.
MEMORY_FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "content": ("text", "content"),
    "caption": ("image_caption",),
    "title": ("title",),
    "speaker": ("speaker",),
    "time": ("time",),
    "session": ("session",),
}
EPISODE_FIELDS: Mapping[str, tuple[str, ...]] = {
    "id": ("id",),
    "task": ("task",),
    "steps": ("steps",),
    "success": ("success",),
}
FIELDS = {**MEMORY_FIELDS, **EPISODE_FIELDS}


@dataclass(frozen=True, slots=True)
class ReadOptions:
    """How to read.

    `source` replaces the name that files get from their folder and file name. `fields` maps meanings (the
    keys of `FIELDS`) to names in the rows. Fields in `drop` are read as if they were not there. `chunk_words`
    is the longest chunk of a text or Markdown file, in words.
    """

    source: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)
    drop: frozenset[str] = frozenset()
    chunk_words: int = 180

    def __post_init__(self) -> None:
        """Refuse meanings that do not exist. Raises ConfigurationError."""
        for meaning in self.fields:
            if meaning not in FIELDS:
                raise ConfigurationError(f"map: no field {meaning!r}; choose from {', '.join(FIELDS)}")
        if self.chunk_words < 1:
            raise ConfigurationError("chunk_words must be at least 1")

    def names(self, meaning: str) -> tuple[str, ...]:
        """Return the names a row may use for a meaning, best first."""
        return (self.fields[meaning],) if meaning in self.fields else FIELDS[meaning]


@dataclass(slots=True)
class ReadNotes:
    """What a read says beside its items; filled while they are taken.

    `undated` lists times that can't be read: those memories have none. `naive_times` counts times without a
    zone, which were taken as UTC.
    """

    undated: list[Failure] = field(default_factory=list)
    naive_times: int = 0


def parse_map(text: str) -> dict[str, str]:
    """Read `content=body,speaker=author` into a mapping. Raises ConfigurationError."""
    fields: dict[str, str] = {}
    for pair in filter(None, (part.strip() for part in text.split(","))):
        meaning, equals, name = (part.strip() for part in pair.partition("="))
        if not (meaning and equals and name):
            raise ConfigurationError(f"map: {pair!r} is not MEANING=FIELD, such as content=body")
        if meaning in fields:
            raise ConfigurationError(f"map: {meaning} is given twice")
        fields[meaning] = name
    return fields
