"""What feedback says, and what it changes."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Literal

from fluxmem_graph.types.recall import Activation


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
    """What feedback changed: `by` names who attributed, verified and rewrote ("rules" or a model, and why).

    `blame` is empty after success. The tuples hold ids: facts linked to the episode, hidden from it, and new
    rewritings.
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
