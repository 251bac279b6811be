"""The log, the links and the namespace as a whole."""

from collections.abc import Sequence
from datetime import datetime
from functools import cached_property

from fluxmem_graph.client.base import Connected
from fluxmem_graph.ingest.values import to_utc
from fluxmem_graph.operations.erasing import Erasing
from fluxmem_graph.operations.links import Links
from fluxmem_graph.operations.log import LAST_SEQ, Log
from fluxmem_graph.operations.namespaces import Namespaces
from fluxmem_graph.stages.past import Past
from fluxmem_graph.types import (
    Erased,
    Link,
    LinkOrder,
    LinkReason,
    NamespaceSummary,
    Operation,
    Picture,
    Undone,
)


class Operating(Connected):
    """The part of the façade for those who look after a memory."""

    @cached_property
    def _log(self) -> Log:
        return Log(self.database, self.namespace, self.actor)

    def log(
        self,
        memory_id: str | None = None,
        *,
        before_seq: int = LAST_SEQ,
        top: int = 100,
        kinds: Sequence[str] = (),
        actor: str | None = None,
        run_id: str | None = None,
        since: datetime | None = None,
        until: datetime | None = None,
    ) -> list[Operation]:
        """Return operations, newest first: of one memory or of the namespace, that match all filters.

        `since` and `until` are included; a time without a zone is UTC.
        """
        return self._log.read(
            memory_id,
            before_seq=before_seq,
            top=top,
            kinds=kinds,
            actor=actor,
            run_id=run_id,
            since=since,
            until=until,
        )

    def undo(self, operation_id: str, *, reason: str = "") -> str:
        """Take one operation back and return the memory's id. Raises NotFound or Conflict."""
        return self._log.undo(operation_id, reason=reason)

    def undo_run(self, run_id: str, *, reason: str = "") -> Undone:
        """Take back a whole run, such as an ingest, or nothing of it when a part can't be.

        Each hundred operations are one transaction: after a crash, or a Conflict because somebody wrote
        meanwhile, the same call takes back the rest. Raises NotFound or Conflict.
        """
        return self._log.undo_run(run_id, reason=reason)

    def undo_range(self, first_seq: int, last_seq: int, *, reason: str = "") -> Undone:
        """Take back operations `first_seq` to `last_seq`, both included, as `undo_run` does.

        Raises InvalidInput, NotFound or Conflict.
        """
        return self._log.undo_range(first_seq, last_seq, reason=reason)

    def at(self, moment: datetime) -> Past:
        """Return this namespace as the store had it at a moment, to `search`, `activate` and `get`.

        Contents and status are those of then, links' weights those of now; a time without a zone is UTC.
        """
        at = to_utc(moment)[0]
        return Past(self.database, self.embedder, self.namespace, self.settings.retrieval, at)

    def links(self, order: LinkOrder = "strongest", *, top: int = 20) -> list[Link]:
        """Return links that feedback changes: the strongest, newest or weakest. Raises InvalidInput."""
        return Links(self.database, self.namespace).links(order, top)

    def explain(self, memory_id: str) -> list[LinkReason]:
        """Return why a memory is linked: its links, each with the feedback behind it. Raises NotFound."""
        return Links(self.database, self.namespace).explain(memory_id)

    def picture(self, memory_id: str | None = None, *, top: int = 300) -> Picture:
        """Return at most `top` nodes with the links between them: of the namespace, or of one run or skill.

        A skill is meant by the id of any of its versions. Raises InvalidInput or NotFound.
        """
        return Links(self.database, self.namespace).picture(memory_id, top)

    def stats(self) -> dict[str, dict[str, int]]:
        """Return counts of memories, nodes and links by name."""
        return Namespaces(self.database).stats(self.namespace)

    def erase_memory(self, memory_id: str) -> Erased:
        """Destroy one memory with all that was made of it, and prove it. Raises NotFound."""
        return self._erasing.memory(memory_id)

    def erase_source(self, uri: str) -> Erased:
        """Destroy what comes from a source and from no other one, and prove it. Raises NotFound."""
        return self._erasing.source(uri)

    def erase_subject(self, name: str) -> Erased:
        """Destroy every fact about a subject or by it, take its name out of the rest, and prove it.

        Raises NotFound.
        """
        return self._erasing.subject(name)

    @cached_property
    def _erasing(self) -> Erasing:
        return Erasing(self.database, self.embedder, self.namespace, self.actor, self._export())

    def namespaces(self) -> list[NamespaceSummary]:
        """Return every namespace of this database, by name."""
        return Namespaces(self.database).all()

    def create_namespace(self) -> bool:
        """Make this namespace, empty; tell whether it is new. Writing to one makes it too."""
        return Namespaces(self.database).create(self.namespace)

    def set_quota(self, most: int | None) -> int:
        """Set how many memories this namespace may hold (None: any number); return how many there are.

        Former versions don't count, deleted memories do. A write beyond it raises QuotaExceeded. Raises
        InvalidInput or NotFound.
        """
        return Namespaces(self.database).set_quota(self.namespace, most)

    def erase_namespace(self) -> int:
        """Destroy everything in this namespace and return the number of nodes erased."""
        return Namespaces(self.database).erase(self.namespace)
