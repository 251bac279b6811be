"""Atomic operations on the real store."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from fluxmem_graph.errors import Conflict, InvalidInput, NotFound
from fluxmem_graph.ingest.values import check_text
from fluxmem_graph.operations.memories import Memories
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.types import Applied, AtomicOperation, Create, Delete, Hit, Note, Read, Status, Update

CALLER = "caller"

Search = Callable[[str, int], Sequence[Hit]]
"""From a query and top_k to the facts that answer it, best first."""


@dataclass(frozen=True, slots=True)
class Applier:
    """Applies operations to one namespace; the log names the policy and its version as the actor."""

    memories: Memories
    search: Search

    def apply(
        self, operations: Iterable[AtomicOperation], policy: str = CALLER, version: str = ""
    ) -> list[Applied]:
        """Apply operations in order and return an outcome each: one that can't be done stops no other.

        Each is a transaction of its own. Raises EmbeddingError or Unavailable.
        """
        decided = f"{policy}@{version}" if version else policy
        memories = replace(
            self.memories,
            actor=f"{self.memories.actor}:{decided}",
            guard=replace(self.memories.guard, spared=0),
        )
        return [self._outcome(memories, operation) for operation in operations]

    def _outcome(self, memories: Memories, operation: AtomicOperation) -> Applied:
        try:
            return self._apply(memories, operation)
        except (NotFound, Conflict, InvalidInput) as error:
            named = operation.id if isinstance(operation, Update | Delete) else None
            return Applied(operation, named, problem=str(error))

    def _apply(self, memories: Memories, operation: AtomicOperation) -> Applied:
        match operation:
            case Create():
                [made] = memories.add([operation.memory], reason=operation.reason)
                return Applied(operation, made.id, quarantined=made.status is Status.QUARANTINED)
            case Read():
                return Applied(operation, hits=tuple(self.search(operation.query, operation.top_k)))
            case Update():
                changed = memories.update(operation.id, operation.content, reason=operation.reason)
                return Applied(operation, changed.id, quarantined=changed.status is Status.QUARANTINED)
            case Delete():
                memories.delete(operation.id, reason=operation.reason)
                return Applied(operation, operation.id)
            case Note():
                write_note(memories, operation)
                return Applied(operation)


def write_note(memories: Memories, note: Note) -> None:
    """Rewrite the namespace's scratchpad. Raises InvalidInput."""
    memories.database.run(
        "fluxmem.internal.note",
        namespace=memories.namespace,
        text=check_text(note.text),
        operationId=new_id(),
        actor=memories.actor,
        reason=note.reason,
    )


def read_note(memories: Memories) -> str:
    """Return the namespace's scratchpad, empty until it is first written."""
    rows = memories.database.run("fluxmem.internal.scratchpad", namespace=memories.namespace)
    return str(rows[0]["text"]) if rows else ""
