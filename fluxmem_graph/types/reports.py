"""The log, and what a job did."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class Operation:
    """One row of the operation log; `before` and `after` hold no embeddings.

    `erased` rows are tombstones: seq, id and kind stay, the texts are gone.
    """

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
    undone: bool = False
    erased: bool = False


@dataclass(frozen=True, slots=True)
class Undone:
    """What an undo of many took back, as ids, newest first; `skipped` operations were undone already."""

    operations: tuple[str, ...]
    skipped: int


@dataclass(frozen=True, slots=True)
class NamespaceSummary:
    """A tenant in a list: its last operation's number, its memories (former versions aside), its quota."""

    name: str
    seq: int
    memories: int
    quota: int | None
    created_at: datetime | None


@dataclass(frozen=True, slots=True)
class Erased:
    """What an erasure destroyed and rewrote; `left` names the places where a marker still stands.

    `markers` are what was searched for afterwards: the erased texts, and the source's or subject's name.
    """

    memories: int
    derived: int
    steps: int
    tombstones: int
    entities: int
    sources: int
    redacted: int
    markers: tuple[str, ...]
    left: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import did: lines read, nodes created, and memories that stood there under another id."""

    lines: int
    created: int
    known: int


@dataclass(frozen=True, slots=True)
class Replayed:
    """A log played again: its operations, how many were erased, and what the first difference is about."""

    operations: int
    skipped: int
    difference: str | None


@dataclass(frozen=True, slots=True)
class Failure:
    """An item that could not be read or stored, with where it came from and why."""

    where: str
    reason: str


@dataclass(slots=True)
class IngestReport:
    """What an ingest did; without a policy `created + unchanged + len(failures)` is what was submitted.

    `skipped` is what a policy made no memory of, `operations` what it did, by kind; each of its operations
    that could not be done is a failure, so that one item may have several. `run_id` is in
    every operation that was logged, notes aside. `quarantined` counts those of the created that a guard keeps
    from being recalled.
    """

    run_id: str = ""
    created: int = 0
    unchanged: int = 0
    quarantined: int = 0
    skipped: int = 0
    operations: dict[str, int] = field(default_factory=dict)
    failures: list[Failure] = field(default_factory=list)
    undated: list[Failure] = field(default_factory=list)
    seconds: float = 0.0
