"""The operation log: read it, and take single operations back."""

from dataclasses import dataclass

from fluxmem_graph.errors import Conflict, NotFound
from fluxmem_graph.graph.database import Database
from fluxmem_graph.operations.rows import new_id, to_operation
from fluxmem_graph.types import Operation

LAST_SEQ = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Log:
    """The operations of one namespace."""

    database: Database
    namespace: str
    actor: str

    def read(
        self, memory_id: str | None = None, *, before_seq: int = LAST_SEQ, top: int = 100
    ) -> list[Operation]:
        """Return operations, newest first: of one memory, or of the whole namespace."""
        rows = self.database.run(
            "fluxmem.history", namespace=self.namespace, id=memory_id, beforeSeq=before_seq, top=top
        )
        return [to_operation(row) for row in rows]

    def undo(self, operation_id: str, *, reason: str = "") -> str:
        """Take one operation back and return the memory's id.

        Raises NotFound, or Conflict when the memory has changed since or the kind has no undo.
        """
        rows = self.database.run(
            "fluxmem.undo",
            namespace=self.namespace,
            operationId=operation_id,
            newOperationId=new_id(),
            actor=self.actor,
            reason=reason,
        )
        if not rows:
            raise NotFound(f"no operation {operation_id} in namespace {self.namespace}; see `fluxmem log`")
        if rows[0]["refused"]:
            raise Conflict(f"operation {operation_id} can't be undone: {rows[0]['refused']}")
        return str(rows[0]["id"])
