"""Erasure for good: of one memory, a source or a subject, with all that was made of it, and the proof."""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.errors import InvalidInput, NotFound
from fluxmem_graph.graph.database import Database, Row
from fluxmem_graph.ingest.entities import entity_key
from fluxmem_graph.ingest.values import check_text, content_hash
from fluxmem_graph.operations.batches import batched
from fluxmem_graph.operations.moving import Export
from fluxmem_graph.operations.redaction import Markers, redacted
from fluxmem_graph.operations.reembedding import Embedding
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.retrieval.sparse import content_words
from fluxmem_graph.types import Erased, Layer

BATCH = 500
# All that may quote an erased text; `former` is what episodes were before an operation.
QUOTING = ("memory", "step", "operation", "former", "namespace")
# A report names so many places and texts; more would be a list nobody reads.
SHOWN = 20


@dataclass(frozen=True, slots=True)
class Erasing:
    """The erasure of parts of one namespace; `contents` reads all of it."""

    database: Database
    embedder: Embedder
    namespace: str
    actor: str
    contents: Export

    def memory(self, memory_id: str) -> Erased:
        """Erase one memory of any layer. Raises NotFound."""
        if not self.database.run("fluxmem.read", namespace=self.namespace, ids=[memory_id]):
            raise NotFound(f"no memory {memory_id} in namespace {self.namespace}")
        return self._erase([memory_id])

    def source(self, uri: str) -> Erased:
        """Erase what comes from a source and from no other one. Raises NotFound."""
        rows = self.database.run("fluxmem.internal.ofSource", namespace=self.namespace, uri=uri)
        if not rows:
            raise NotFound(f"no memory of source {uri} in namespace {self.namespace}")
        shared = [{"id": row["id"], "source": row["others"][0]} for row in rows if row["others"]]
        for page in batched(shared, BATCH):
            self._recite(uri, page)
            self.database.run("fluxmem.internal.uncite", namespace=self.namespace, uri=uri, rows=page)
        return self._erase([row["id"] for row in rows if not row["others"]], texts=[uri])

    def subject(self, name: str) -> Erased:
        """Erase every fact that mentions a subject or was said by it, and take its name out of the rest.

        A fact mentions it if its name stands there between other words, in any case. Raises NotFound.
        """
        key = entity_key(check_text(name))
        if not key:
            raise InvalidInput("a subject's name is empty")
        rows = self.database.run("fluxmem.internal.ofSubject", namespace=self.namespace, key=key)
        found = dict.fromkeys(row["id"] for row in rows)
        named = Markers(frozenset(), name)
        for row in self._nodes("memory"):
            if "Semantic" in row["labels"] and redacted(row["properties"], named):
                found[row["place"]] = None
        others = (row for kind in QUOTING for row in self._nodes(kind))
        if not found and not any(redacted(row["properties"], named) for row in others):
            raise NotFound(f"nothing in namespace {self.namespace} mentions {name}")
        return self._erase(list(found), name=name)

    def _erase(self, ids: Sequence[str], texts: Sequence[str] = (), name: str | None = None) -> Erased:
        scope, asked = self._with_derived(ids), set(ids)
        contents = {row["content"] for row in scope.values() if row["content"]}
        markers = Markers(frozenset(contents) | set(texts), name, frozenset(scope))
        # Copies first: when this is interrupted, the erased texts are still known to the next run.
        runs = [{"id": id_, "properties": {}} for id_, row in scope.items() if row["layer"] == Layer.EPISODIC]
        self._write("erased", runs)
        changed = self._redact(markers)
        # With what an interrupted erasure left.
        for _ in Embedding(self.database, self.embedder, marked=True).run(self.namespace):
            pass
        counts = dict.fromkeys(("memories", "steps", "tombstones", "entities", "sources"), 0)
        # What was made of others goes before these, so that a second run still finds it.
        pages = batched([*(id_ for id_ in scope if id_ not in asked), *ids], BATCH)
        # An erasure that destroys nothing may still have taken a name out of texts: it is logged too.
        for page in list(pages) or [[]]:
            for row in self.database.run(
                "fluxmem.internal.eraseMemories",
                namespace=self.namespace,
                ids=page,
                operationId=new_id(),
                actor=self.actor,
            ):
                counts = {what: count + row[what] for what, count in counts.items()}
        self.database.run("fluxmem.internal.forgetSpeakers", namespace=self.namespace)
        return Erased(
            **counts,
            derived=len(scope) - len(asked),
            redacted=changed,
            markers=tuple(sorted([*markers.texts, *([name] if name else [])])[:SHOWN]),
            left=tuple(self._left(markers)),
        )

    def _recite(self, uri: str, rows: Sequence[Row]) -> None:
        """Let the log say that facts which stay came from another of their sources in the first place."""
        for row in rows:
            created = self.database.run(
                "fluxmem.history", namespace=self.namespace, id=row["id"], kinds=["create"]
            )
            for operation in created:
                after = json.loads(operation["after"] or "{}", strict=False)
                if after.get("source") == uri:
                    text = json.dumps({**after, "source": row["source"]}, ensure_ascii=False)
                    changed = {"id": operation["id"], "properties": {"after": text}}
                    self._write("operation", [changed])

    def _with_derived(self, ids: Sequence[str]) -> dict[str, Row]:
        """Return the memories and all that was made of them, by id."""
        scope: dict[str, Row] = {}
        waiting = list(ids)
        while waiting:
            rows = self.database.run(
                "fluxmem.internal.derived", namespace=self.namespace, ids=waiting[:BATCH]
            )
            scope |= {row["id"]: row for row in rows}
            also = {id_ for row in rows for id_ in row["also"]}
            waiting = [*waiting[BATCH:], *sorted(also - scope.keys() - set(waiting))]
        return scope

    def _redact(self, markers: Markers) -> int:
        """Take the erased texts out of steps, episodes, skills and the log; return how many nodes changed."""
        total = 0
        for kind in QUOTING:
            rows = (
                {"id": row["place"], "properties": changed | _following(changed, row["labels"])}
                for row in self._nodes(kind)
                if row["place"] not in markers.ids
                and "Semantic" not in row["labels"]
                and (changed := redacted(_quoting(kind, row["properties"]), markers))
            )
            changes = self._write(kind, rows)
            # Its nodes are the operations, which are counted as such.
            total += 0 if kind == "former" else changes
        return total

    def _write(self, kind: str, rows: Iterable[Row]) -> int:
        total = 0
        for page in batched(rows, BATCH):
            self.database.run("fluxmem.internal.redact", namespace=self.namespace, kind=kind, rows=page)
            total += len(page)
        return total

    def _left(self, markers: Markers) -> list[str]:
        """Search all that is left of the namespace, and name the places where a marker still stands."""
        places = []
        # What others write meanwhile must not cost the report: what was erased can't be erased again.
        for line in self.contents.lines_now():
            pairs = [(name, "plain", value) for name, value in line.get("properties", {}).items()]
            if line["kind"] == "source":
                pairs.append(("address", "plain", line["id"]))
            if line["kind"] == "entity":
                pairs.append(("name", "plain", line["id"]))
            if redacted(pairs, markers):
                places.append(f"{line['kind']} {line.get('id', self.namespace)}")
                if len(places) == SHOWN:
                    break
        return places

    def _nodes(self, kind: str) -> Iterator[Row]:
        if kind == "former":
            for row in self.contents.pages("fluxmem.internal.exportLinks", "operation"):
                held = [found for link in row["links"] for found in link["properties"] if found[0] in _FORMER]
                yield {"place": row["place"], "labels": [], "properties": held}
        elif kind == "namespace":
            # The one text that stands on the tenant's own node.
            for row in self.database.run("fluxmem.internal.scratchpad", namespace=self.namespace):
                properties = [("scratchpad", "plain", row["text"])]
                yield {"place": self.namespace, "labels": [], "properties": properties}
        else:
            yield from self.contents.pages("fluxmem.internal.exportNodes", kind)


_FORMER = frozenset({"content", "outcome"})


def _quoting(kind: str, properties: Sequence[Sequence[Any]]) -> Iterator[tuple[str, str, Any]]:
    """Return the properties that may quote what others say.

    A fact that stays says by itself what it says, and so does the log of its texts.
    """
    own = kind == "operation" and any(
        name == "kind" and value in ("create", "update") for name, _, value in properties
    )
    return ((name, form, value) for name, form, value in properties if not own or name == "reason")


def _following(changed: dict[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """Return what follows from the redacted texts of an episode or skill."""
    if "task" in changed:
        return {"words": content_words(changed["task"])}
    if "Procedural" in labels and "content" in changed:
        return {"content_hash": content_hash(changed["content"])}
    return {}
