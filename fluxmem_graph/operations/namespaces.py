"""Whole namespaces: what they hold, and their erasure."""

from dataclasses import dataclass

from fluxmem_graph.graph.database import Database

ERASE_BATCH = 5000


@dataclass(frozen=True, slots=True)
class Namespaces:
    """The namespaces of one database."""

    database: Database

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
