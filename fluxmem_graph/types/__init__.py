"""The values that cross the public interface: plain, frozen dataclasses."""

from fluxmem_graph.types.keeping import Check, Diagnosis, Quarantined, Reembedded
from fluxmem_graph.types.learning import (
    Blame,
    Link,
    LinkOrder,
    LinkReason,
    Outcome,
    Refined,
    Refinement,
    Round,
    Vote,
)
from fluxmem_graph.types.memories import Layer, Memory, NewEpisode, NewMemory, NewStep, Status
from fluxmem_graph.types.recall import Activation, Hit, Signals
from fluxmem_graph.types.reports import Failure, IngestReport, Operation
from fluxmem_graph.types.runs import Boundary, EpisodeSummary, Observed
from fluxmem_graph.types.skills import (
    Change,
    Consolidation,
    Evidence,
    Placed,
    Review,
    Rewriting,
    Skill,
    SkillChange,
    SkillDraft,
)

__all__ = [
    "Activation",
    "Blame",
    "Boundary",
    "Change",
    "Check",
    "Consolidation",
    "Diagnosis",
    "EpisodeSummary",
    "Evidence",
    "Failure",
    "Hit",
    "IngestReport",
    "Layer",
    "Link",
    "LinkOrder",
    "LinkReason",
    "Memory",
    "NewEpisode",
    "NewMemory",
    "NewStep",
    "Observed",
    "Operation",
    "Outcome",
    "Placed",
    "Quarantined",
    "Reembedded",
    "Refined",
    "Refinement",
    "Review",
    "Rewriting",
    "Round",
    "Signals",
    "Skill",
    "SkillChange",
    "SkillDraft",
    "Status",
    "Vote",
]
