"""The values that cross the public interface: plain, frozen dataclasses."""

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


@dataclass(frozen=True, slots=True)
class Signals:
    """Why a hit ranks where it does; each scaled to 0..1 over the candidates, None when absent."""

    dense: float | None = None
    sparse: float | None = None
    verified: float | None = None
    spread: float | None = None


@dataclass(frozen=True, slots=True)
class Hit:
    """One retrieved memory with its score, its signals and the path that brought it."""

    id: str
    layer: Layer
    content: str
    score: float
    signals: Signals
    path: tuple[str, ...] = ()
    name: str = ""
    external_id: str | None = None
    source: str | None = None
    speaker: str | None = None
    occurred_at: datetime | None = None
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Activation:
    """What memory brings back for an observation, best first in every layer.

    `signals` names how each signal was had ("dense": "all-MiniLM-L6-v2", "verified": "off: no LLM").
    """

    query: str
    facts: tuple[Hit, ...]
    episodes: tuple[Hit, ...]
    skills: tuple[Hit, ...]
    signals: dict[str, str]


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the operation log; `before` and `after` hold no embeddings."""

    id: str
    seq: int
    kind: str
    actor: str
    reason: str
    at: datetime
    run_id: str | None
    before: dict[str, Any] | None
    after: dict[str, Any] | None
    touched: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that could not be read or stored, with where it came from and why."""

    where: str
    reason: str


@dataclass(slots=True)
class IngestReport:
    """What an ingest did; `created + unchanged + len(failures)` is what was submitted."""

    created: int = 0
    unchanged: int = 0
    failures: list[Failure] = field(default_factory=list)
    undated: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
