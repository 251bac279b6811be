"""What memory brings back."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from fluxmem_graph.types.memories import Layer


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
