"""The links that feedback changes: which are strong, new or weak, and what made them so."""

from dataclasses import dataclass
from datetime import datetime
from typing import get_args

from fluxmem_graph.errors import InvalidInput, NotFound
from fluxmem_graph.graph.database import Database, Row
from fluxmem_graph.types import Link, LinkOrder, LinkReason, Picture, PictureLink, PictureNode, Vote


@dataclass(frozen=True, slots=True)
class Links:
    """The links of one namespace."""

    database: Database
    namespace: str

    def links(self, order: LinkOrder = "strongest", top: int = 20) -> list[Link]:
        """Return links that feedback changes, in the given order. Raises InvalidInput."""
        if order not in get_args(LinkOrder):
            raise InvalidInput(f"no order {order!r}; choose from {', '.join(get_args(LinkOrder))}")
        rows = self.database.run("fluxmem.links", namespace=self.namespace, order=order, top=top)
        return [Link(**row) for row in rows]

    def explain(self, memory_id: str) -> list[LinkReason]:
        """Return the links of one memory, those that feedback changes first. Raises NotFound."""
        rows = self.database.run("fluxmem.explain", namespace=self.namespace, id=memory_id)
        if not rows and not self.database.run("fluxmem.read", namespace=self.namespace, ids=[memory_id]):
            raise NotFound(f"no memory {memory_id} in namespace {self.namespace}")
        return [_reason(row) for row in rows]

    def picture(self, memory_id: str | None = None, top: int = 300) -> Picture:
        """Return a part of the graph to draw: of the namespace, or around one memory.

        Raises InvalidInput for less than one node, or NotFound.
        """
        if top < 1:
            raise InvalidInput(f"top={top}: a picture has at least one node")
        rows = self.database.run("fluxmem.internal.picture", namespace=self.namespace, id=memory_id, top=top)
        if not rows and memory_id is not None:
            raise NotFound(f"no memory {memory_id} in namespace {self.namespace}")
        links = [
            PictureLink(row["id"], link["other"], link["type"], link["weight"])
            for row in rows
            for link in row.pop("links")
        ]
        return Picture(tuple(PictureNode(**row) for row in rows), tuple(links))


def _reason(row: Row) -> LinkReason:
    votes = tuple(Vote(**{**vote, "at": datetime.fromisoformat(vote["at"])}) for vote in row["feedback"])
    return LinkReason(**{**row, "feedback": votes})
