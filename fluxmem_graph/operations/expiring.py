"""Memories that live for a time after their last use, and are deleted when it is over."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fluxmem_graph.graph.database import Database
from fluxmem_graph.operations.rows import new_id


@dataclass(frozen=True, slots=True)
class Overdue:
    """A memory that is over unless it was used after `since`; `tag` is one that no later version has."""

    id: str
    tag: str
    since: datetime


@dataclass(frozen=True, slots=True)
class Expiring:
    """What becomes of the memories of one namespace that live for a time."""

    database: Database
    namespace: str
    actor: str

    def prolong(self, ids: Sequence[str], at: datetime) -> None:
        """Note that memories were used; their content, version and log stay as they are."""
        self.database.run("fluxmem.internal.prolong", namespace=self.namespace, ids=list(ids), at=at)

    def expire(self, found: Sequence[Overdue]) -> frozenset[str]:
        """Delete what is over, in one transaction, and return the ids of what lives on."""
        rows = self.database.run(
            "fluxmem.internal.expire",
            namespace=self.namespace,
            items=[
                {"id": item.id, "tag": item.tag, "since": item.since, "operation_id": new_id()}
                for item in found
            ],
            actor=self.actor,
            reason="its time to live is over",
        )
        return frozenset(rows[0]["alive"])
