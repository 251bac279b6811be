"""Erasure for good: of one memory, a source or a subject, with all that was made of it, and the proof."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.errors import InvalidInput, NotFound
from fluxmem_graph.graph.database import Database, Row, vectors
from fluxmem_graph.ingest.entities import entity_key
from fluxmem_graph.ingest.values import check_text, content_hash
from fluxmem_graph.operations.batches import batched
from fluxmem_graph.operations.embedded import embed_episodes, embed_texts
from fluxmem_graph.operations.episodes import find_episode, to_steps
from fluxmem_graph.operations.moving import Export
from fluxmem_graph.operations.redaction import Markers, redacted
from fluxmem_graph.operations.rows import new_id
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.retrieval.sparse import content_words
from fluxmem_graph.types import Erased, NewEpisode

BATCH = 500
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
        if not found and not any(redacted(row["properties"], named) for row in self._others()):
            raise NotFound(f"nothing in namespace {self.namespace} mentions {name}")
        return self._erase(list(found), name=name)

    def _erase(self, ids: Sequence[str], texts: Sequence[str] = (), name: str | None = None) -> Erased:
        scope, asked = self._with_derived(ids), set(ids)
        contents = {row["content"] for row in scope.values() if row["content"]}
        markers = Markers(frozenset(contents) | set(texts), name, frozenset(scope))
        # Copies first: when this is interrupted, the erased texts are still known to the next run.
        changed = self._redact(markers)
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
                    self.database.run(
                        "fluxmem.internal.redact",
                        namespace=self.namespace,
                        kind="operation",
                        rows=[changed],
                    )

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
        total, retold, rewritten = 0, [], []
        for kind in ("memory", "step", "operation", "namespace"):
            rows = (
                {"id": row["place"], "properties": changed, "labels": row["labels"]}
                for row in self._nodes(kind)
                if row["place"] not in markers.ids
                and "Semantic" not in row["labels"]
                and (changed := redacted(_quoting(kind, row["properties"]), markers))
            )
            for page in batched(rows, BATCH):
                for row in page if kind == "memory" else ():
                    row["properties"] |= _following(row["properties"], row["labels"])
                retold += [row["id"] for row in page if "Episodic" in row["labels"]]
                rewritten += [row["id"] for row in page if "Procedural" in row["labels"]]
                self.database.run("fluxmem.internal.redact", namespace=self.namespace, kind=kind, rows=page)
                total += len(page)
        self._embed_again(retold)
        self._embed_skills(rewritten)
        return total

    def _embed_skills(self, skill_ids: Sequence[str]) -> None:
        """Give redacted skills the vectors of what is left of them."""
        for page in batched(skill_ids, BATCH):
            rows = self.database.run("fluxmem.read", namespace=self.namespace, ids=page)
            self._set_vectors(
                [
                    (row, {"embedding": vector})
                    for row, vector in zip(
                        rows,
                        vectors(embed_texts(self.embedder, [row["content"] for row in rows])),
                        strict=True,
                    )
                ]
            )

    def _embed_again(self, episode_ids: Sequence[str]) -> None:
        """Give redacted episodes the vectors of what is left of them."""
        for page in batched(episode_ids, BATCH):
            rows = [find_episode(self.database, self.namespace, id_) for id_ in page]
            ended = [row for row in rows if row["ended_at"] is not None]
            if not ended:
                continue
            episodes = [NewEpisode(row["task"], to_steps(row["steps"])) for row in ended]
            reminding, trajectory = (vectors(matrix) for matrix in embed_episodes(self.embedder, episodes))
            contents = self.database.run(
                "fluxmem.read", namespace=self.namespace, ids=[row["id"] for row in ended]
            )
            told = {row["id"]: row for row in contents}
            self._set_vectors(
                [
                    (told[row["id"]], {"embedding": first, "trajectory_embedding": second})
                    for row, first, second in zip(ended, reminding, trajectory, strict=True)
                ]
            )

    def _set_vectors(self, made: Sequence[tuple[Row, dict[str, Any]]]) -> None:
        rows = [
            {"id": row["id"], "content": row["content"], "model": self.embedder.name, "vectors": found}
            for row, found in made
        ]
        self.database.run("fluxmem.internal.setVectors", namespace=self.namespace, rows=rows)

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
        if kind != "namespace":
            yield from self.contents.pages("fluxmem.internal.exportNodes", kind)
            return
        # The one text that stands on the tenant's own node.
        for row in self.database.run("fluxmem.internal.scratchpad", namespace=self.namespace):
            properties = [("scratchpad", "plain", row["text"])]
            yield {"place": self.namespace, "labels": [], "properties": properties}

    def _others(self) -> Iterator[Row]:
        yield from self._nodes("memory")
        yield from self._nodes("step")
        yield from self._nodes("operation")
        yield from self._nodes("namespace")


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
