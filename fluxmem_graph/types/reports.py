"""The log, and what a job did."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


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
    """What an ingest did; `created + unchanged + len(failures)` is what was submitted.

    `quarantined` counts those of the created that a guard keeps from being recalled.
    """

    created: int = 0
    unchanged: int = 0
    quarantined: int = 0
    failures: list[Failure] = field(default_factory=list)
    undated: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
