"""What a memory is, and what is given to be stored."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any


class Layer(StrEnum):
    """The three kinds of memory (FluxMem, section 3)."""

    SEMANTIC = "semantic"
    EPISODIC = "episodic"
    PROCEDURAL = "procedural"


class Status(StrEnum):
    """Whether a memory may be retrieved; only `active` ones are, unless asked otherwise."""

    ACTIVE = "active"
    CANDIDATE = "candidate"
    LOCAL = "local"
    SUPERSEDED = "superseded"
    QUARANTINED = "quarantined"
    DELETED = "deleted"


@dataclass(frozen=True, slots=True)
class NewMemory:
    """A fact, message or passage to store.

    `external_id` is the caller's own id, unique within `source`; items that have one stay separate even
    when their texts are equal. `title` names what the text is about. The turns of one `session` of a source
    follow each other in the order in which they come.
    """

    content: str
    external_id: str | None = None
    source: str | None = None
    speaker: str | None = None
    title: str | None = None
    occurred_at: datetime | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)
    session: str | None = None


@dataclass(frozen=True, slots=True)
class NewStep:
    """One observation and what the agent did about it."""

    observation: str
    action: str = ""
    feedback: str | None = None


@dataclass(frozen=True, slots=True)
class NewEpisode:
    """A finished run of a task, with its steps in order; `success` is in 0..1 or unknown."""

    task: str
    steps: tuple[NewStep, ...]
    external_id: str | None = None
    source: str | None = None
    success: float | None = None
    outcome: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PastVersion:
    """What a memory was at a moment."""

    id: str
    version: int
    content: str
    status: Status
    metadata: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Memory:
    """A stored memory; times are zoned UTC."""

    id: str
    namespace: str
    layer: Layer
    name: str
    content: str
    status: Status
    version: int
    key: str
    external_id: str | None
    source: str | None
    speaker: str | None
    occurred_at: datetime | None
    recorded_from: datetime
    recorded_to: datetime | None
    embedding_model: str | None
    metadata: dict[str, Any]
    entities: tuple[str, ...] = ()
