"""The log, the links and the namespace as a whole."""

from functools import cached_property

from fluxmem_graph.client.base import Connected
from fluxmem_graph.operations.links import Links
from fluxmem_graph.operations.log import LAST_SEQ, Log
from fluxmem_graph.operations.namespaces import Namespaces
from fluxmem_graph.types import (
    Link,
    LinkOrder,
    LinkReason,
    Operation,
)


class Operating(Connected):
    """The part of the façade for those who look after a memory."""

    @cached_property
    def _log(self) -> Log:
        return Log(self.database, self.namespace, self.actor)

    def log(
        self, memory_id: str | None = None, *, before_seq: int = LAST_SEQ, top: int = 100
    ) -> list[Operation]:
        """Return operations, newest first: of one memory, or of the namespace."""
        return self._log.read(memory_id, before_seq=before_seq, top=top)

    def undo(self, operation_id: str, *, reason: str = "") -> str:
        """Take one operation back and return the memory's id. Raises NotFound or Conflict."""
        return self._log.undo(operation_id, reason=reason)

    def links(self, order: LinkOrder = "strongest", *, top: int = 20) -> list[Link]:
        """Return links that feedback changes: the strongest, newest or weakest. Raises InvalidInput."""
        return Links(self.database, self.namespace).links(order, top)

    def explain(self, memory_id: str) -> list[LinkReason]:
        """Return why a memory is linked: its links, each with the feedback behind it. Raises NotFound."""
        return Links(self.database, self.namespace).explain(memory_id)

    def stats(self) -> dict[str, dict[str, int]]:
        """Return counts of memories, nodes and links by name."""
        return Namespaces(self.database).stats(self.namespace)

    def erase_namespace(self) -> int:
        """Destroy everything in this namespace and return the number of nodes erased."""
        return Namespaces(self.database).erase(self.namespace)
