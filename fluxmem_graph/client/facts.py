"""Facts: store, read, change."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import Any

from fluxmem_graph.client.base import Connected
from fluxmem_graph.ingest import Item
from fluxmem_graph.operations.ingesting import Ingest, Progress
from fluxmem_graph.operations.memories import Memories
from fluxmem_graph.types import (
    IngestReport,
    Layer,
    Memory,
    NewMemory,
    Status,
)


class Facts(Connected):
    """The part of the façade about facts."""

    @cached_property
    def _memories(self) -> Memories:
        return Memories(self.database, self.embedder, self.namespace, self.actor, self._guard)

    def add(
        self,
        content: str,
        *,
        external_id: str | None = None,
        source: str | None = None,
        speaker: str | None = None,
        title: str | None = None,
        occurred_at: datetime | None = None,
        session: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        verified: bool = False,
        reason: str = "",
    ) -> Memory:
        """Store one memory and return it; the same fact again returns the one that is there.

        A `verified` one is vouched for: later texts that contradict it are quarantined. Raises InvalidInput,
        or Conflict for an external id that is stored with another text, before anything is written.
        """
        new = NewMemory(
            content, external_id, source, speaker, title, occurred_at, metadata or {}, session
        )  # fmt: skip
        return self._memories.add([new], verified=verified, reason=reason)[0]

    def add_many(self, memories: Sequence[NewMemory], *, reason: str = "") -> list[Memory]:
        """Store memories in one transaction and return them in order. Raises InvalidInput or Conflict."""
        return self._memories.add(memories, reason=reason)

    def ingest(self, items: Iterable[Item], progress: Progress | None = None) -> IngestReport:
        """Store a stream of memories and episodes in batches; safe to repeat and to resume."""
        loading = Ingest(self.database, self.embedder, self.namespace, self.actor, self._guard)
        return loading.run(items, progress)

    def get(self, memory_id: str) -> Memory:
        """Return one memory of any layer and status. Raises NotFound."""
        return self._memories.get(memory_id)

    def find(
        self, external_id: str, source: str | None = None, *, status: Status | None = Status.ACTIVE
    ) -> Memory | None:
        """Return the memory stored under an external id of a source, if it has this status (None: any)."""
        return self._memories.find(external_id, source, status)

    def match(
        self,
        where: Mapping[str, Any] | None = None,
        *,
        layer: Layer | None = None,
        status: Status = Status.ACTIVE,
        after_id: str = "",
        top: int = 100,
    ) -> list[Memory]:
        """Return memories of one status whose metadata has every given value, by id; page with `after_id`."""
        return self._memories.match(where or {}, layer=layer, status=status, after_id=after_id, top=top)

    def update(
        self,
        memory_id: str,
        content: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        revive: bool = False,
        reason: str = "",
    ) -> Memory:
        """Replace a fact's content; its id, links and former version stay. Raises NotFound or Conflict.

        With `revive` also that of a quarantined or deleted one, which the guards then judge by the new text.
        Who vouched for the former text has not vouched for this one: it is verified no more.
        """
        return self._memories.update(memory_id, content, metadata=metadata, revive=revive, reason=reason)

    def delete(self, memory_id: str, *, reason: str = "") -> None:
        """Take a memory out of retrieval; `undo` brings it back. Raises NotFound or Conflict."""
        self._memories.delete(memory_id, reason=reason)
