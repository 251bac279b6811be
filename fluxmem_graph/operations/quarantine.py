"""What a person decides about quarantined memories."""

from collections.abc import Sequence
from dataclasses import dataclass

from fluxmem_graph.errors import Conflict
from fluxmem_graph.graph.database import Call
from fluxmem_graph.operations.memories import Memories
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.types import Quarantined, Status


@dataclass(frozen=True, slots=True)
class Quarantine:
    """The quarantined memories of one namespace."""

    memories: Memories

    def find(self, top: int, memory_id: str | None = None) -> list[Quarantined]:
        """Return quarantined memories, newest first, with why they are."""
        database, namespace = self.memories.database, self.memories.namespace
        rows = database.run("fluxmem.quarantined", namespace=namespace, id=memory_id, top=top)
        return [Quarantined(**row) for row in rows]

    def release(self, memory_id: str, *, reason: str) -> None:
        """Let it be recalled. Raises NotFound, or Conflict when it is not quarantined."""
        self._decide([self._call("fluxmem.release", memory_id, reason)], memory_id)

    def drop(self, memory_id: str, *, reason: str) -> None:
        """Delete it, or give a rewritten memory its former text back. Raises NotFound or Conflict."""
        found = self.find(1, memory_id)
        if not (found and found[0].former):
            self._decide([self._call("fluxmem.drop", memory_id, reason)], memory_id)
            return
        version = found[0].version - 1
        former = self.memories.get(f"{memory_id}@{version}")
        back = self.memories.updating(
            self.memories.get(memory_id),
            former.content,
            metadata=former.metadata,
            reason=reason,
            statuses=[Status.QUARANTINED],
            restores=version,
        )
        self._decide([back], memory_id)

    def _call(self, name: str, memory_id: str, reason: str) -> Call:
        return name, {
            "namespace": self.memories.namespace,
            "id": memory_id,
            "operationId": new_id(),
            "actor": self.memories.actor,
            "reason": reason,
        }

    def _decide(self, calls: Sequence[Call], memory_id: str) -> None:
        if not self.memories.database.together(calls):
            status = self.memories.get(memory_id).status
            raise Conflict(f"memory {memory_id} is {status}, not quarantined")
