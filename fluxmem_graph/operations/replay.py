"""A namespace rebuilt from its log: the same statements, with the arguments that the log holds."""

import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from fluxmem_graph.errors import Conflict, InvalidInput
from fluxmem_graph.graph.database import Call, Database
from fluxmem_graph.ingest.values import content_hash
from fluxmem_graph.operations.batches import batched
from fluxmem_graph.operations.comparing import difference, skipped
from fluxmem_graph.operations.moving import PAGE, Export, Progress, vector_values
from fluxmem_graph.types import Replayed

# Of one transaction.
BATCH = 100


@dataclass(frozen=True, slots=True)
class Logged:
    """One operation; `after` are its statement's arguments as logged, `memory` is what it is about."""

    seq: int
    id: str
    kind: str
    actor: str
    reason: str
    at: datetime
    run_id: str | None
    before: str | None
    text: str | None
    erased: bool
    memory: str | None

    @property
    def after(self) -> dict[str, Any]:
        """Raises Conflict for an operation of a caller who logged no arguments."""
        if self.text is None:
            raise Conflict(
                f"operation {self.seq} ({self.kind}) was logged without its arguments: a driver that calls "
                "the procedures has to pass `after`; it can't be replayed"
            )
        # Not strict: a bare driver's text may hold control characters, which Cypher can't escape.
        found: dict[str, Any] = json.loads(self.text, strict=False)
        return found


Arguments = Mapping[str, Any]
Again = tuple[str, Callable[[Logged, dict[str, Any]], Arguments]]
"""A statement, and its arguments from an operation and its `after`."""


def _update(operation: Logged, after: dict[str, Any]) -> Arguments:
    change = {name: value for name, value in after.items() if name != "content"}
    logged = {"operation_id": operation.id, "after": operation.text}
    return {"id": operation.memory, "content": after["content"], "change": {**change, **logged}}


def _step(operation: Logged, after: dict[str, Any]) -> Arguments:
    return {
        "episodeId": operation.memory,
        "stepId": after["id"],
        "activated": after.get("activated", []),
        **_kept(after, "observation", "action", "metadata"),
    }


def _split(_: Logged, after: dict[str, Any]) -> Arguments:
    later = {name: value for name, value in after["second"].items() if name != "steps"}
    first = after["first"]
    return {"episodeId": first["id"], "at": after["at"], "content": first.get("content"), "episode": later}


def _reshape(operation: Logged, after: dict[str, Any]) -> Arguments:
    rewriting = _kept(after, "id", "key", "content", "text", "name", "content_hash")
    return {"episodeId": operation.memory, "sources": after["sources"], "rewriting": rewriting}


def _skill(operation: Logged, after: dict[str, Any]) -> Arguments:
    row = {name: value for name, value in after.items() if name not in ("sources", "approve")}
    made = {"id": operation.memory, "content_hash": content_hash(row["content"]), "after": operation.text}
    return {"skill": {**row, **made}, **_kept(after, "sources", "approve")}


def _review(_: Logged, after: dict[str, Any]) -> Arguments:
    return _kept(after, "id", "verdict")


def _quarantine(operation: Logged, after: dict[str, Any]) -> Arguments:
    found = {"operation_id": after["operation"], "new_id": operation.id, "reason": operation.reason}
    # What was objected to is known: no cosine is below this limit.
    return {"items": [{**found, "why": None, "claim": None, "values": []}], "drift": -2.0, "spared": 1}


def _verify(operation: Logged, after: dict[str, Any]) -> Arguments:
    return {"items": [{**after, "operation_id": operation.id, "after": operation.text}]}


def _kept(after: Arguments, *names: str) -> dict[str, Any]:
    return {name: after[name] for name in names if after.get(name) is not None}


# A new kind of operation is one line here. What several operations write at once is in `_BATCHED`.
KINDS: dict[str, Again] = {
    "update": ("fluxmem.update", _update),
    "delete": ("fluxmem.delete", lambda o, _: {"id": o.memory}),
    "undo": ("fluxmem.undo", lambda o, after: {"operationId": after["undoes"], "newOperationId": o.id}),
    "step": ("fluxmem.step", _step),
    "end": (
        "fluxmem.endEpisode",
        lambda o, after: {"episodeId": o.memory, **_kept(after, "success", "outcome", "content")},
    ),
    "feedback": (
        "fluxmem.feedback",
        lambda o, after: {
            "episodeId": o.memory,
            **_kept(after, "success", "text", "used", "unused", "credited", "paired"),
        },
    ),
    "expand": (
        "fluxmem.expand",
        lambda o, after: {"episodeId": o.memory, **_kept(after, "found", "missing")},
    ),
    "prune": (
        "fluxmem.prune",
        lambda o, after: {"episodeId": o.memory, "ids": after["pruned"], "doubt": after["doubt"]},
    ),
    "reshape": ("fluxmem.reshape", _reshape),
    "split": ("fluxmem.splitEpisode", _split),
    "merge": (
        "fluxmem.mergeEpisodes",
        lambda _, after: {
            "episodeId": after["id"],
            "secondId": after["second"],
            "content": after.get("content"),
        },
    ),
    "skill": ("fluxmem.createSkill", _skill),
    "approve": ("fluxmem.reviewSkill", _review),
    "rollback": ("fluxmem.reviewSkill", _review),
    "retire": ("fluxmem.reviewSkill", _review),
    "quarantine": ("fluxmem.internal.guard", _quarantine),
    "verify": ("fluxmem.internal.verify", _verify),
    "release": ("fluxmem.release", lambda o, _: {"id": o.memory}),
    "drop": ("fluxmem.drop", lambda o, _: {"id": o.memory}),
    "note": ("fluxmem.internal.note", lambda _, after: {"text": after["text"]}),
}


def _memory_row(operation: Logged) -> dict[str, Any]:
    after, logged = operation.after, {"operation_id": operation.id, "after": operation.text}
    if operation.kind != "create":
        return {"content": "", **_kept(after, "key", "source"), **logged}
    return {"id": operation.memory, **after, **logged}


def _episode_row(operation: Logged) -> dict[str, Any]:
    after = operation.after
    ended_at = None if after.get("running") else operation.at
    return {**after, "ended_at": ended_at, "operation_id": operation.id, "after": operation.text}


_BATCHED: dict[str, tuple[str, str, Callable[[Logged], dict[str, Any]]]] = {
    "create": ("fluxmem.create", "memories", _memory_row),
    "revive": ("fluxmem.create", "memories", _memory_row),
    "source": ("fluxmem.create", "memories", _memory_row),
    "episode": ("fluxmem.createEpisodes", "episodes", _episode_row),
}


@dataclass(frozen=True, slots=True)
class Replay:
    """The log of one namespace, played into another one."""

    database: Database
    source: Export
    target: Export

    def run(self, progress: Progress | None = None) -> Replayed:
        """Rebuild, then compare with the original, clocks and vectors left out; vectors are carried over.

        Ids and seq are kept; what was erased is skipped. Raises NotFound, or Conflict for a target that holds
        something or an operation that can't be played again.
        """
        if self.source.namespace == self.target.namespace:
            raise InvalidInput("a namespace can't be replayed into itself; name another one")
        next(self.source.lines())
        if self.database.run("fluxmem.internal.exportNamespace", namespace=self.target.namespace):
            raise Conflict(f"namespace {self.target.namespace} is there already; name another one")
        done = erased = 0
        for page in batched(self._steps(), BATCH):
            self._play([call for calls, _ in page for call in calls])
            for _, operations in page:
                done += len(operations)
                erased += sum(operation.erased for operation in operations)
            if progress is not None:
                progress(done)
        self._carry_vectors()
        return Replayed(done, erased, difference(self.source.lines(), self.target.lines()))

    def _log(self) -> Iterator[Logged]:
        seq = 0
        while rows := self.database.run(
            "fluxmem.internal.logged", namespace=self.source.namespace, afterSeq=seq, top=PAGE
        ):
            for row in rows:
                named = {("text" if name == "after" else name): value for name, value in row.items()}
                yield Logged(**{**named, "erased": skipped(row)})
            seq = rows[-1]["seq"]

    def _steps(self) -> Iterator[tuple[list[Call], list[Logged]]]:
        """Return what each statement of the original wrote, as calls beside its operations."""
        for (statement, erased, _), group in itertools.groupby(self._log(), key=_written_together):
            operations = list(group)
            if erased:
                yield [self._tombstones(operations)], operations
            elif statement is not None:
                yield [self._batch(statement, operations)], operations
            else:
                for operation in operations:
                    yield self._calls(operation), [operation]

    def _batch(self, statement: str, operations: Sequence[Logged]) -> Call:
        first = operations[0]
        _, argument, to_row = _BATCHED[first.kind]
        arguments: dict[str, Any] = {argument: [to_row(operation) for operation in operations]}
        if argument == "memories":
            arguments["revive"] = any(operation.kind == "revive" for operation in operations)
        return statement, self._logged(statement, first, arguments)

    def _calls(self, operation: Logged) -> list[Call]:
        if operation.kind not in KINDS:
            raise Conflict(f"operation {operation.seq}: no way to replay the kind {operation.kind}")
        statement, arguments_of = KINDS[operation.kind]
        after = {} if operation.kind == "delete" else operation.after
        arguments = self._logged(statement, operation, arguments_of(operation, after))
        moved = after.get("stream")
        return [*([self._advance(moved)] if moved else []), (statement, arguments)]

    def _advance(self, moved: dict[str, Any]) -> Call:
        """Return the move of a stream that a step came with."""
        same = moved["nextEpisodeId"] == moved["episodeId"]
        # The episode before has been ended just now, by the operations before this step.
        position = {} if same else {"episodeId": None, "steps": 0}
        at = datetime.fromisoformat(moved["at"])
        return "fluxmem.internal.advance", {
            "namespace": self.target.namespace,
            **moved,
            **position,
            "at": at,
        }

    def _logged(self, statement: str, operation: Logged, arguments: Arguments) -> Arguments:
        """Add what every operation keeps, as far as the statement takes it."""
        shared = {
            "namespace": self.target.namespace,
            "actor": operation.actor,
            "reason": operation.reason,
            "runId": operation.run_id,
            "before": operation.before,
            "after": operation.text,
        }
        if "newOperationId" not in arguments:
            shared["operationId"] = operation.id
        taken = {parameter.name for parameter in self.database.catalogue[statement].parameters}
        return {**{name: value for name, value in shared.items() if name in taken}, **arguments}

    def _tombstones(self, operations: Sequence[Logged]) -> Call:
        rows = [{"id": o.id, "seq": o.seq, "kind": o.kind, "actor": o.actor} for o in operations]
        return "fluxmem.internal.tombstones", {"namespace": self.target.namespace, "rows": rows}

    def _play(self, calls: Sequence[Call]) -> None:
        answers = self.database.together(calls)
        if not answers:
            raise Conflict(
                f"the log of {self.source.namespace} can't be played again: one of its statements changed "
                f"nothing; erase {self.target.namespace}, and see what was written without an operation"
            )
        for (name, arguments), rows in zip(calls, answers, strict=True):
            if name == "fluxmem.undo" and rows[0]["refused"]:
                raise Conflict(f"undo of {arguments['operationId']} can't be replayed: {rows[0]['refused']}")

    def _carry_vectors(self) -> None:
        """Give what has the same text the vector of the original, so that no embedder is needed."""
        memories = (
            line
            for line in self.source.lines()
            if line["kind"] == "memory" and "embedding_model" in line["properties"]
        )
        for page in batched(memories, PAGE):
            rows = [
                {
                    "id": line["id"],
                    "content": line["properties"]["content"],
                    "model": line["properties"]["embedding_model"],
                    "vectors": vector_values(line["properties"]),
                }
                for line in page
            ]
            self.database.run("fluxmem.internal.setVectors", namespace=self.target.namespace, rows=rows)


def _written_together(operation: Logged) -> tuple[str | None, bool, tuple[Any, ...]]:
    """Return what neighbours of one statement have in common: a batch writes all of it at one moment."""
    statement = None if operation.erased else _BATCHED.get(operation.kind, (None,))[0]
    same = (operation.at, operation.actor, operation.reason, operation.run_id)
    return statement, operation.erased, same if statement else ()
