"""The values that cross the public interface: plain, frozen dataclasses."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal


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
    rewrites: tuple[str, ...] = ()
    """Ids of the memories that this one is a finer or coarser rewriting of."""


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


class Blame(StrEnum):
    """What a failed step is put down to (section 3.2)."""

    MISSING_LINK = "missing link"
    NOISY_LINK = "noisy link"
    TOO_COARSE = "too coarse"
    TOO_FINE = "too fine"


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a step went, as the agent, its environment or its user says it.

    `success` is in 0..1; None asks for self-verification of `answer`. `text` is what went wrong or should
    have been answered, `missing` what the context lacked. The rest are ids of memories: `too_coarse` hold
    more than was needed, `too_fine` lack what is around them.
    """

    success: float | None
    text: str = ""
    answer: str = ""
    missing: str = ""
    used: tuple[str, ...] = ()
    unused: tuple[str, ...] = ()
    too_coarse: tuple[str, ...] = ()
    too_fine: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Refinement:
    """What feedback changed: `by` names who attributed ("rules" or a model), `blame` is empty after success.

    The tuples hold ids: facts linked to the episode, hidden from it, and new rewritings.
    """

    success: float
    by: str
    blame: tuple[Blame, ...] = ()
    expanded: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()
    reshaped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Round:
    """One look at memory in a refinement loop; round 0 is the first."""

    number: int
    activation: Activation
    outcome: Outcome
    refinement: Refinement


@dataclass(frozen=True, slots=True)
class Refined:
    """A finished refinement loop; its rounds are the steps of the episode."""

    episode_id: str
    success: bool
    rounds: tuple[Round, ...]


@dataclass(frozen=True, slots=True)
class Link:
    """A link that feedback changes, from memory `id` to memory `other_id`; `weight` is in 0..1.

    `successes` and `failures` are what feedback has counted so far; `tentative` links fade unless confirmed.
    """

    type: str
    id: str
    name: str
    other_id: str
    other_name: str
    weight: float
    successes: float
    failures: float
    origin: str | None
    tentative: bool
    updated_at: datetime | None


@dataclass(frozen=True, slots=True)
class Vote:
    """What one operation added to a link: `gain` to its successes, `loss` to its failures."""

    operation: str
    seq: int
    kind: str
    at: datetime
    actor: str
    reason: str
    gain: float
    loss: float
    undone: bool


@dataclass(frozen=True, slots=True)
class LinkReason:
    """A link of one memory, `out` to or `in` from the other end, and the feedback that made it, newest first.

    `layer` is "entity" or "source" where the other end is no memory; only links that feedback
    changes have a weight and counts.
    """

    type: str
    direction: str
    id: str
    name: str | None
    layer: str
    weight: float | None
    successes: float | None
    failures: float | None
    origin: str | None
    tentative: bool | None
    updated_at: datetime | None
    feedback: tuple[Vote, ...] = ()


LinkOrder = Literal["strongest", "newest", "weakest"]


Boundary = Literal["first", "mark", "idle", "topic shift", ""]
"""Why a message of a stream opened an episode; empty when it belongs to the open one."""


@dataclass(frozen=True, slots=True)
class Observed:
    """What became of a message of a stream; `closed` is the id of the episode that it ended."""

    memory_id: str
    episode_id: str
    opened: bool
    closed: str | None
    why: Boundary


@dataclass(frozen=True, slots=True)
class EpisodeSummary:
    """An episode in a list; `steps` is their number, `success` in 0..1 or unknown; times are zoned UTC."""

    id: str
    task: str
    status: Status
    source: str | None
    steps: int
    success: float | None
    started_at: datetime
    ended_at: datetime | None


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
