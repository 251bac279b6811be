"""Skills: procedures distilled from runs, in versions that are reviewed."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

from fluxmem_graph.types.memories import Status

Evidence = Literal["stored", "replayed"]
"""Where a skill's success comes from: the outcomes stored with its runs, or the agent's own function."""

Change = Literal["create", "revise", "unchanged", "retire", "none"]
"""What becomes of a cluster; "none": of runs that all failed, no skill is made."""


class Review(StrEnum):
    """Where a version of a skill stands; only approved ones reach an agent unasked."""

    CANDIDATE = "candidate"
    APPROVED = "approved"
    RETIRED = "retired"


@dataclass(frozen=True, slots=True)
class SkillDraft:
    """What a skill says; slots in steps read `{slot}`, `slots` has values seen there.

    `made_by` is "extractive", with why a model's answer was not taken, or the model's name.
    """

    name: str
    when_to_use: str
    steps: tuple[str, ...]
    pitfalls: tuple[str, ...] = ()
    slots: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    made_by: str = "extractive"


@dataclass(frozen=True, slots=True)
class Skill:
    """One version of a skill; `skill_id` is the same in all. `sources` are ids of the runs behind it.

    `pems` is success / ln(length) · (1 - drift): success is in 0..1, length in tokens (an estimate). Times
    are zoned UTC.
    """

    id: str
    skill_id: str
    version: int
    status: Status
    review: Review
    name: str
    when_to_use: str
    steps: tuple[str, ...]
    pitfalls: tuple[str, ...]
    slots: dict[str, Any]
    content: str
    pems: float
    pems_success: float
    pems_length: int
    pems_drift: float
    settled: bool
    evidence: str
    made_by: str
    run_id: str | None
    recorded_from: datetime
    recorded_to: datetime | None
    sources: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Rewriting:
    """One round of refining a skill: how the rewritten one did, and whether it was kept."""

    round: int
    success: float
    length: int
    pems: float
    kept: bool
    made_by: str


@dataclass(frozen=True, slots=True)
class SkillChange:
    """What consolidation does, or would do, about one cluster or skill.

    `sources` are ids of all runs behind it, `added` the new ones. A plan has no `pems`: it writes no skill.
    """

    change: Change
    skill_id: str | None
    version: int | None
    name: str
    sources: tuple[str, ...]
    added: tuple[str, ...] = ()
    pems_before: float | None = None
    pems: float | None = None
    evidence: Evidence = "stored"
    made_by: str | None = None
    rounds: tuple[Rewriting, ...] = ()
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Placed:
    """Where an episode lies in a plane of the trajectories' two principal components; cluster -1 is noise."""

    episode_id: str
    x: float
    y: float
    cluster: int


@dataclass(frozen=True, slots=True)
class Consolidation:
    """A finished consolidation, or the plan of one.

    `new_episodes` ended since skills were last made, `noise` are in no cluster, `unusable` have no vector.
    `cost` has seconds, embedded texts, replays and the model's calls and tokens.
    """

    applied: bool
    run_id: str
    episodes: int
    new_episodes: int
    clusters: int
    noise: int
    unusable: int
    dimensions: int
    changes: tuple[SkillChange, ...]
    places: tuple[Placed, ...]
    cost: dict[str, float]

    def of(self, change: Change) -> tuple[SkillChange, ...]:
        """Return the changes of one kind."""
        return tuple(item for item in self.changes if item.change == change)
