"""What keeps bad texts from being recalled: looked for when they are written, decided on by a person."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fluxmem_graph.graph.database import Call
from fluxmem_graph.ingest.claims import claim_of
from fluxmem_graph.ingest.instructions import reads_like_instructions
from fluxmem_graph.ingest.values import content_hash
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.settings import GuardSettings


@dataclass(frozen=True, slots=True)
class Guard:
    """Looks at what one transaction writes; its call stands after those that write."""

    settings: GuardSettings = field(default_factory=GuardSettings)
    spared: int = 1
    """How many rewritings of a memory may drift: the first may correct it all, unless a policy makes it."""

    @property
    def keeps_verified(self) -> bool:
        """Whether verified memories may not be rewritten: a policy has nobody's word for another text."""
        return self.settings.enabled and self.spared == 0

    def calls(self, items: Sequence[dict[str, Any]]) -> list[Call]:
        """Return the call that quarantines what is objected to; none when there is nothing to look at."""
        if not (items and self.settings.enabled):
            return []
        limits = {"drift": self.settings.drift, "spared": self.spared}
        return [("fluxmem.internal.guard", {"items": list(items), **limits})]


def written(operation_id: str, text: str) -> dict[str, Any]:
    """Return what a guard must know of a text that an operation stores."""
    claim = claim_of(text)
    return {
        **_item(operation_id, reads_like_instructions(text)),
        "claim": claim.form if claim else None,
        "values": list(claim.values) if claim else [],
    }


def told(operation_id: str, text: str) -> list[dict[str, Any]]:
    """Return the same of a text whose claims are not compared; none if no rule objects to it."""
    why = reads_like_instructions(text)
    return [_item(operation_id, why)] if why else []


def _item(operation_id: str, why: str) -> dict[str, Any]:
    return {"operation_id": operation_id, "new_id": new_id(), "why": why, "claim": None, "values": []}


def verifying(key: str, text: str) -> dict[str, Any]:
    """Return what marks the memory of a key as verified."""
    item = {**written(new_id(), text), "key": key, "content_hash": content_hash(text)}
    after = {
        "status": "active",
        "verified": True,
        **{name: item[name] for name in ("key", "claim", "values")},
    }
    return {**item, "after": json.dumps(after, ensure_ascii=False)}
