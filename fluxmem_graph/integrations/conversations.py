"""A conversation kept item by item in the form of some framework, each item recalled like any turn."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.client import FluxMem
from fluxmem_graph.client.paging import every_match
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.types import Memory, NewMemory, Status

CONVERSATION, ITEM = "conversation", "item"
"""Keys of a turn's metadata: its session, and the framework's own form of it."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """The items of one session of a framework, oldest first.

    A session is whole: it gives back what a guard quarantines too, which is recalled nowhere else.
    """

    memory: FluxMem
    framework: str
    session_id: str

    @property
    def _mark(self) -> str:
        return f"{self.framework}:{self.session_id}"

    def append(self, turns: Iterable[tuple[str, str | None, Mapping[str, Any]]]) -> None:
        """Store turns, each a text, who said it, and the framework's own form of it. Raises InvalidInput."""
        self.memory.add_many(
            [
                NewMemory(
                    text,
                    external_id=new_id(),
                    source=self.framework,
                    speaker=speaker,
                    session=self.session_id,
                    metadata={CONVERSATION: self._mark, ITEM: item},
                )
                for text, speaker, item in turns
            ]
        )

    def items(self) -> list[dict[str, Any]]:
        """Return all items in the framework's own form."""
        return [memory.metadata[ITEM] for memory in self._stored()]

    def pop(self) -> dict[str, Any] | None:
        """Forget the last item and return it; None when there is none."""
        stored = self._stored()
        if not stored:
            return None
        self.memory.delete(stored[-1].id)
        item: dict[str, Any] = stored[-1].metadata[ITEM]
        return item

    def clear(self) -> None:
        """Forget all items; each can be brought back by `undo`."""
        for memory in self._stored():
            self.memory.delete(memory.id)

    def _stored(self) -> list[Memory]:
        mine = {CONVERSATION: self._mark}
        kept = (Status.ACTIVE, Status.QUARANTINED)
        found = [memory for status in kept for memory in every_match(self.memory, mine, status=status)]
        # Ids begin with the time, so this is the order in which they came.
        return sorted(found, key=lambda memory: memory.id)
