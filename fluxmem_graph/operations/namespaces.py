"""Whole namespaces: which there are, what they hold and may hold, and their erasure."""

from dataclasses import dataclass

from fluxmem_graph.errors import InvalidInput, NotFound, QuotaExceeded
from fluxmem_graph.graph.database import Database
from fluxmem_graph.types import NamespaceSummary

ERASE_BATCH = 5000


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The namespaces of one database."""

    database: Database

    def all(self) -> list[NamespaceSummary]:
        """Return every namespace of the database, by name."""
        return [NamespaceSummary(**row) for row in self.database.run("fluxmem.internal.namespaces")]

    def create(self, namespace: str) -> bool:
        """Make an empty namespace; tell whether it is new."""
        rows = self.database.run("fluxmem.internal.createNamespace", namespace=namespace)
        return bool(rows[0]["created"])

    def set_quota(self, namespace: str, most: int | None) -> int:
        """Set how many memories a namespace may hold (None: any number), and return how many there are.

        Former versions don't count; deleted memories do. Raises InvalidInput or NotFound.
        """
        if most is not None and (isinstance(most, bool) or not isinstance(most, int) or most < 0):
            raise InvalidInput(f"a quota is a number of memories, 0 or more, not {most!r}")
        rows = self.database.run("fluxmem.internal.quota", namespace=namespace, most=most)
        if not rows:
            raise NotFound(f"no namespace {namespace}; see `fluxmem namespace list`")
        return int(rows[0]["memories"])

    def stats(self, namespace: str) -> dict[str, dict[str, int]]:
        """Return counts by kind (`memory`, `node`, `link`) and name."""
        counts: dict[str, dict[str, int]] = {"memory": {}, "node": {}, "link": {}}
        for row in self.database.run("fluxmem.stats", namespace=namespace):
            counts[row["kind"]][row["name"]] = row["count"]
        return counts

    def erase(self, namespace: str) -> int:
        """Destroy every node of the namespace, in batches, and return how many there were.

        A crash in the middle leaves a smaller namespace; erasing again finishes it.
        """
        erased = 0
        while count := self._erase_batch(namespace):
            erased += count
        return erased

    def _erase_batch(self, namespace: str) -> int:
        rows = self.database.run("fluxmem.internal.eraseBatch", namespace=namespace, top=ERASE_BATCH)
        return int(rows[0]["erased"])


def check_room(database: Database, namespace: str, new: int = 1, run_id: str | None = None) -> None:
    """Say why a write changed nothing, if a full namespace is the reason; `run_id`: of what went before it.

    Raises QuotaExceeded.
    """
    written = "nothing was written"
    if run_id is not None:
        written = f"what came before is stored, as run {run_id}: `fluxmem undo --run {run_id}` takes it back"
    for row in Namespaces(database).all():
        if row.name == namespace and row.quota is not None and row.memories + new > row.quota:
            raise QuotaExceeded(
                f"namespace {namespace} holds {row.memories} of the {row.quota} memories that it may: no "
                f"room for {new} more; {written}. Erase some, or see `fluxmem namespace quota`"
            )
