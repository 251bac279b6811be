"""What is found out about a memory's health, and what is kept from being recalled."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at; `fix` says what to do about a finding."""

    name: str
    ok: bool
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """All checks in order; `ok` when none is a finding. `fixed` names the checks that were repaired."""

    ok: bool
    checks: tuple[Check, ...]
    fixed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Quarantined:
    """A memory that a guard objects to; `former` is the text that a rewriting replaced."""

    id: str
    layer: str
    content: str
    why: str
    at: datetime
    actor: str
    source: str | None
    speaker: str | None
    version: int
    former: str | None


@dataclass(frozen=True, slots=True)
class Reembedded:
    """A finished change of the embedder; `former` is None when an interrupted change was only finished."""

    former: str | None
    model: str
    embedded: int
