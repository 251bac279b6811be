"""The operation log: read it, and take operations back, one by one or all of a run or a range."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from fluxmem_graph.errors import Conflict, InvalidInput, NotFound
from fluxmem_graph.graph.database import Call, Database, Row
from fluxmem_graph.ingest.values import to_utc
from fluxmem_graph.operations.rows import new_id, to_operation
from fluxmem_graph.types import Operation, Undone

LAST_SEQ = 2**63 - 1
# Of one transaction: few enough to keep the tenant's lock for moments only.
UNDO_BATCH = 100


@dataclass(frozen=True, slots=True)
class Log:
    """The operations of one namespace."""

    database: Database
    namespace: str
    actor: str

    def read(
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
        """Return operations, newest first: of one memory, or of the whole namespace, that match all filters.

        `since` and `until` are included; a time without a zone is UTC.
        """
        rows = self.database.run(
            "fluxmem.history",
            namespace=self.namespace,
            id=memory_id,
            beforeSeq=before_seq,
            top=top,
            kinds=list(kinds),
            byActor=actor,
            runId=run_id,
            since=since and to_utc(since)[0],
            until=until and to_utc(until)[0],
        )
        return [to_operation(row) for row in rows]

    def undo(self, operation_id: str, *, reason: str = "") -> str:
        """Take one operation back and return the memory's id.

        Raises NotFound, or Conflict when the memory has changed since or the kind has no undo.
        """
        name, arguments = self._call(operation_id, reason)
        rows = self.database.run(name, **arguments)
        if not rows:
            raise NotFound(f"no operation {operation_id} in namespace {self.namespace}; see `fluxmem log`")
        if rows[0]["refused"]:
            raise Conflict(f"operation {operation_id} can't be undone: {rows[0]['refused']}")
        return str(rows[0]["id"])

    def undo_run(self, run_id: str, *, reason: str = "") -> Undone:
        """Take back all operations of a run, newest first.

        All are checked first, and nothing is taken back when one of them can't be. Then each hundred is one
        transaction: after a crash, or a Conflict because somebody wrote meanwhile, the same call takes back
        the rest. Raises NotFound or Conflict.
        """
        return self._undo_all(self._undoable(runId=run_id), f"run {run_id}", reason)

    def undo_range(self, first_seq: int, last_seq: int, *, reason: str = "") -> Undone:
        """Take back the operations numbered `first_seq` to `last_seq`, both included, newest first.

        As `undo_run`. Raises InvalidInput, NotFound or Conflict.
        """
        if not 1 <= first_seq <= last_seq:
            raise InvalidInput(f"a range goes from 1 or more upwards, not from {first_seq} to {last_seq}")
        rows = self._undoable(firstSeq=first_seq, lastSeq=last_seq)
        return self._undo_all(rows, f"range {first_seq} to {last_seq}", reason)

    def _undoable(self, **selection: object) -> list[Row]:
        return self.database.run("fluxmem.internal.undoable", namespace=self.namespace, **selection)

    def _undo_all(self, rows: list[Row], what: str, reason: str) -> Undone:
        if not rows:
            raise NotFound(f"no operations in {what} of namespace {self.namespace}; see `fluxmem log`")
        for row in rows:
            if row["refused"]:
                raise Conflict(
                    f"{what} can't be undone: operation {row['seq']} ({row['kind']}): {row['refused']}; "
                    "nothing was changed"
                )
        waiting = [row for row in rows if not row["undone"]]
        for start in range(0, len(waiting), UNDO_BATCH):
            batch = waiting[start : start + UNDO_BATCH]
            answers = self.database.together([self._call(row["id"], reason) for row in batch])
            self._check(batch, answers, what)
        return Undone(tuple(row["id"] for row in waiting), len(rows) - len(waiting))

    def _check(self, batch: list[Row], answers: list[list[Row]], what: str) -> None:
        if not answers:
            raise NotFound(
                f"{what}: operations between {batch[-1]['seq']} and {batch[0]['seq']} are gone; somebody "
                f"erased in namespace {self.namespace} meanwhile: see `fluxmem log`"
            )
        for row, [answer] in zip(batch, answers, strict=True):
            if answer["refused"]:
                raise Conflict(
                    f"{what} is undone in part: operation {row['seq']}: {answer['refused']}; "
                    "somebody else wrote meanwhile: run it again"
                )

    def _call(self, operation_id: str, reason: str) -> Call:
        return "fluxmem.undo", {
            "namespace": self.namespace,
            "operationId": operation_id,
            "newOperationId": new_id(),
            "actor": self.actor,
            "reason": reason,
        }
