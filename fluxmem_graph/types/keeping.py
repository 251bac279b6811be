"""What is found out about a memory's health."""

from dataclasses import dataclass


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
