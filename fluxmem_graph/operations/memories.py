"""Create, read, update and delete single memories, each with its operation in one transaction."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.errors import Conflict, NotFound
from fluxmem_graph.graph.database import Call, Database, Row, vectors
from fluxmem_graph.ingest.values import clean_text, content_hash, encode_metadata, memory_key, metadata_tag
from fluxmem_graph.operations.embedded import embed_memories
from fluxmem_graph.operations.guards import Guard, verifying, written
from fluxmem_graph.operations.namespaces import check_room
from fluxmem_graph.operations.rows import (
    caption,
    cleaned,
    entity_rows,
    memory_row,
    new_id,
    optional_text,
    searched,
    source_text,
    to_memory,
)
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.types import Layer, Memory, NewMemory, Status

_RETRIEVABLE = (Status.ACTIVE, Status.CANDIDATE, Status.LOCAL)
_HELD = (Status.QUARANTINED, Status.DELETED)


@dataclass(frozen=True, slots=True)
class Memories:
    """The memories of one namespace; `run_id`, if any, is in every operation that they log."""

    database: Database
    embedder: Embedder
    namespace: str
    actor: str
    guard: Guard
    run_id: str | None = None

    def add(self, memories: Sequence[NewMemory], *, verified: bool = False, reason: str = "") -> list[Memory]:
        """Store memories and return them in order; one that exists already is returned as it is.

        `verified` ones are not guarded: what contradicts them later is. Raises InvalidInput, or Conflict for
        an external id that is stored with another text, before anything is written; after it only where
        another writer was faster.
        """
        memories = [cleaned(memory) for memory in memories]
        rows = [memory_row(memory) for memory in memories]
        if not rows:
            return []
        self._check_external_ids(rows)
        matrix = embed_memories(self.embedder, memories)
        for row, vector in zip(rows, vectors(matrix), strict=True):
            row |= {"embedding": vector, "embedding_model": self.embedder.name}
        calls: list[Call] = [("fluxmem.create", {"memories": rows, "reason": reason})]
        if verified:
            items = [verifying(row["key"], row["content"]) for row in rows]
            calls.append(("fluxmem.internal.verify", {"items": items, "reason": reason}))
        else:
            calls += self.guard.calls([written(row["operation_id"], row["content"]) for row in rows])
        done = self._together(calls)
        if not done:
            check_room(self.database, self.namespace, len(rows))
        stored = done[0]
        id_of = {row["key"]: row["id"] for row in stored}
        found = {memory.id: memory for memory in self.read(list(id_of.values()))}
        added = [found[id_of[row["key"]]] for row in rows]
        for row, memory in zip(rows, added, strict=True):
            if row["external_id"] is not None and row["content"] != memory.content:
                # Another writer was faster: what was there has changed neither its text nor its status.
                raise _taken(row, memory.id, memory.status)
        return added

    def _check_external_ids(self, rows: Sequence[Row]) -> None:
        named = {row["key"]: row for row in rows if row["external_id"] is not None}
        if not named:
            return
        for row in rows:
            if row["content"] != named.get(row["key"], row)["content"]:
                raise Conflict(f"{_called(row)} stands for two texts; nothing was stored")
        for stored in self.database.run("fluxmem.internal.known", namespace=self.namespace, keys=list(named)):
            row = named[stored["key"]]
            if stored["hashes"][0] != row["content_hash"]:
                raise _taken(row, stored["id"], stored["status"])

    def read(self, ids: Sequence[str]) -> list[Memory]:
        """Return the memories with these ids, of any layer and status; unknown ids are left out."""
        rows = self.database.run("fluxmem.read", namespace=self.namespace, ids=list(ids))
        return [to_memory(self.namespace, row) for row in rows]

    def get(self, memory_id: str) -> Memory:
        """Return one memory of any layer and status. Raises NotFound."""
        found = self.read([memory_id])
        if not found:
            raise self._missing(memory_id)
        return found[0]

    def find(self, external_id: str, source: str | None, status: Status | None) -> Memory | None:
        """Return the memory stored under an external id of a source, if it has this status (None: any)."""
        key = memory_key(source_text(source), optional_text(external_id, "external_id"), "")
        known = self.database.run("fluxmem.internal.known", namespace=self.namespace, keys=[key])
        found = self.read([row["id"] for row in known])
        return next((memory for memory in found if status in (None, memory.status)), None)

    def match(
        self, where: Mapping[str, Any], *, layer: Layer | None, status: Status, after_id: str, top: int
    ) -> list[Memory]:
        """Return memories of one status whose metadata has every given value, by id."""
        rows = self.database.run(
            "fluxmem.match",
            namespace=self.namespace,
            tags=[metadata_tag(key, value) for key, value in where.items()],
            layer=layer,
            status=status,
            afterId=after_id,
            top=top,
        )
        return [to_memory(self.namespace, row) for row in rows]

    def update(
        self,
        memory_id: str,
        content: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        revive: bool = False,
        reason: str = "",
    ) -> Memory:
        """Replace a fact's content; the former version stays in the graph.

        With `revive` a quarantined or deleted one becomes active with the new text, never with the former.
        A verified one is verified no more: its former version is. Raises NotFound, InvalidInput, or Conflict:
        another layer or status, a text stored already, or a policy that edits what is verified.
        """
        former = self.get(memory_id)
        if former.layer is not Layer.SEMANTIC:
            raise Conflict(f"memory {memory_id} is {former.layer}; only facts can be edited")
        statuses = {"statuses": [*_RETRIEVABLE, *_HELD]} if revive else {}
        call = self.updating(former, clean_text(content), metadata=metadata, reason=reason, **statuses)
        change = call[1]["change"]
        change["unless_verified"] = self.guard.keeps_verified
        if not self._together(
            [call, *self.guard.calls([written(change["operation_id"], call[1]["content"])])]
        ):
            status = self.get(memory_id).status
            if status in _RETRIEVABLE:
                raise Conflict(f"memory {memory_id} is verified; a person may change it with `fluxmem edit`")
            raise Conflict(f"memory {memory_id} is {status}; only retrievable memories can be edited")
        return self.get(memory_id)

    def updating(
        self,
        former: Memory,
        text: str,
        *,
        metadata: Mapping[str, Any] | None = None,
        reason: str,
        **condition: Any,
    ) -> Call:
        """Return the call that replaces a fact's content. Raises InvalidInput.

        `condition` is what `fluxmem.update` takes of `statuses` and `restores`.
        """
        title = None if former.name == caption(former.content) else former.name
        changed = NewMemory(text, speaker=former.speaker, title=title, occurred_at=former.occurred_at)
        names = entity_rows(changed, frozenset())
        change: dict[str, Any] = {
            "key": memory_key(former.source, former.external_id, text),
            "name": title or caption(text),
            "text": searched(changed),
            "content_hash": content_hash(text),
            "mentions": names["mentions"],
            "phrases": names["phrases"],
            **condition,
        }
        if metadata is not None:
            change["metadata"], change["tags"] = encode_metadata(metadata)
        change |= {
            "after": json.dumps({"content": text, **change}, ensure_ascii=False),
            "operation_id": new_id(),
            "embedding": vectors(embed_memories(self.embedder, [changed]))[0],
            "embedding_model": self.embedder.name,
        }
        arguments = {"id": former.id, "content": text, "change": change, "reason": reason}
        return "fluxmem.update", {"namespace": self.namespace, "actor": self.actor, **arguments}

    def delete(self, memory_id: str, *, reason: str = "") -> None:
        """Take a memory out of retrieval; undo brings it back. Raises NotFound or Conflict."""
        deleted = self.database.run(
            "fluxmem.delete",
            namespace=self.namespace,
            id=memory_id,
            operationId=new_id(),
            actor=self.actor,
            reason=reason,
            runId=self.run_id,
        )
        if not deleted:
            raise Conflict(f"memory {memory_id} is {self.get(memory_id).status} already")

    def _together(self, calls: Sequence[Call]) -> list[list[Row]]:
        run = {} if self.run_id is None else {"runId": self.run_id}
        return self.database.together(calls, namespace=self.namespace, actor=self.actor, **run)

    def _missing(self, memory_id: str) -> NotFound:
        if not memory_id:
            return NotFound("a memory's id is empty")
        return NotFound(f"no memory {memory_id} in namespace {self.namespace}")


def _called(row: Row) -> str:
    source = f" of source {row['source']}" if row["source"] else ""
    return f"id {row['external_id']}{source}"


def _taken(row: Row, memory_id: str, status: str) -> Conflict:
    edit = f"`fluxmem edit {memory_id}`"
    if status in _HELD:
        edit = f"`memory.update({memory_id!r}, ..., revive=True)`"
    return Conflict(f"{_called(row)} is stored with another text ({status}); edit it with {edit}")
