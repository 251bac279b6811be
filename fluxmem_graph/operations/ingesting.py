"""Loading many items: batched, idempotent by key, embedding while the batch before is being written."""

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.graph.database import Call, Database, vectors
from fluxmem_graph.ingest import Item
from fluxmem_graph.operations.batches import growing
from fluxmem_graph.operations.embedded import embed_episodes, embed_memories
from fluxmem_graph.operations.guards import Guard, told, written
from fluxmem_graph.operations.namespaces import check_room
from fluxmem_graph.operations.rows import cleaned, episode_row, memory_row, new_id
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.types import Failure, IngestReport, NewEpisode, NewMemory

# The first are small, so that the server soon has something to write while the next ones are prepared;
# later ones are large, since each costs it about 30 ms whatever is in it.
SMALLEST, BATCH = 128, 512

OTHER_TEXT = "this id is stored with another text; edit it with `fluxmem edit`"

Progress = Callable[[int], None]
"""Called with the number of items done so far."""


@dataclass(slots=True)
class _Batch:
    """Rows of one kind that are not stored yet, beside the items that they came from."""

    statement: str
    argument: str
    rows: list[dict[str, Any]]
    items: list[Any]
    looked_at: list[dict[str, Any]] = field(default_factory=list)

    @property
    def of_facts(self) -> bool:
        return self.argument == "memories"


@dataclass(slots=True)
class Ingest:
    """One run over a stream of items; `run_id` is in every operation that it logs."""

    database: Database
    embedder: Embedder
    namespace: str
    actor: str
    guard: Guard = field(default_factory=Guard)
    run_id: str = field(default_factory=new_id)
    report: IngestReport = field(default_factory=IngestReport)
    _wrote: bool = False
    _speakers: frozenset[str] = frozenset()
    _last_key: dict[tuple[str | None, str], str] = field(default_factory=dict)
    # Of the chunk before, which may still be on its way to the database.
    _recent: dict[str, tuple[list[str], set[str | None]]] = field(default_factory=dict)

    def run(self, items: Iterable[Item], progress: Progress | None = None) -> IngestReport:
        """Store what is new; `created + unchanged + failures` is the number of items.

        Raises EmbeddingError or Unavailable; a second run then goes on where this one stopped.
        """
        started = time.perf_counter()
        self.report.run_id = self.run_id
        done = 0
        with ThreadPoolExecutor(1) as writer:
            writing: Future[None] | None = None
            for chunk in growing(items, SMALLEST, BATCH):
                for batch in self._prepare(chunk):
                    self._look_at(batch)
                    self._embed(batch)
                    if writing is not None:
                        writing.result()
                    writing = writer.submit(self._write, batch)
                done += len(chunk)
                if progress is not None:
                    progress(done)
            if writing is not None:
                writing.result()
        self.report.seconds = time.perf_counter() - started
        return self.report

    def _prepare(self, chunk: list[Item]) -> list[_Batch]:
        self.report.failures += [item for item in chunk if isinstance(item, Failure)]
        memories = [item for item in chunk if isinstance(item, NewMemory)]
        self._speakers |= {item.speaker for item in memories if item.speaker}
        episodes = [item for item in chunk if isinstance(item, NewEpisode)]
        batches = (
            _Batch("fluxmem.create", "memories", *self._rows(memories, self._memory_row)),
            _Batch("fluxmem.createEpisodes", "episodes", *self._rows(episodes, episode_row)),
        )
        fresh = [self._without_known(batch) for batch in batches if batch.rows]
        self._recent = {
            row["key"]: ([row["content_hash"]], {row["source"]}) for batch in fresh for row in batch.rows
        }
        return fresh

    def _rows(
        self, items: list[Any], to_row: Callable[[Any], dict[str, Any]]
    ) -> tuple[list[dict[str, Any]], list[Any]]:
        rows, kept = [], []
        for item in items:
            try:
                rows.append(to_row(item))
                kept.append(item)
            except InvalidInput as error:
                self.report.failures.append(Failure(item_name(item), str(error)))
        return rows, kept

    def _memory_row(self, memory: NewMemory) -> dict[str, Any]:
        memory = cleaned(memory)
        if memory.session is None:
            return memory_row(memory, self._speakers)
        place = (memory.source, memory.session)
        row = memory_row(memory, self._speakers, self._last_key.get(place))
        self._last_key[place] = row["key"]
        return row

    def _without_known(self, batch: _Batch) -> _Batch:
        keys = [row["key"] for row in batch.rows]
        stored = self.database.run("fluxmem.internal.known", namespace=self.namespace, keys=keys)
        known: dict[str, tuple[list[str], set[str | None] | None]] = dict(self._recent)
        for row in stored:
            _, recent = known.get(row["key"], ([], None))
            known[row["key"]] = (row["hashes"], set(row["sources"]) | (recent or set()))
        fresh: list[int] = []
        for place, row in enumerate(batch.rows):
            key, source, text = row["key"], row["source"], row["content_hash"]
            texts, sources = known.get(key, ([text], None))
            if text == texts[0] and (sources is None or source not in sources | {None}):
                # New, or from a source that the stored one does not have yet.
                known[key] = (texts, (sources or set()) | {source})
                fresh.append(place)
            elif text in texts:
                # As it is stored, or was until somebody edited it.
                self.report.unchanged += 1
            else:
                self.report.failures.append(Failure(item_name(batch.items[place]), OTHER_TEXT))
        batch.rows = [batch.rows[place] for place in fresh]
        batch.items = [batch.items[place] for place in fresh]
        return batch

    def _look_at(self, batch: _Batch) -> None:
        if not self.guard.settings.enabled:
            return
        texts = [(row["operation_id"], row["content"]) for row in batch.rows]
        batch.looked_at = [item for text in texts for item in told(*text)]

    def _guarding(self, batch: _Batch) -> list[Call]:
        # Claims matter where a fact is verified; what is verified after this question comes after the batch.
        if batch.of_facts and self.guard.settings.enabled and self._is_verifying():
            return self.guard.calls([written(row["operation_id"], row["content"]) for row in batch.rows])
        return self.guard.calls(batch.looked_at)

    def _is_verifying(self) -> bool:
        rows = self.database.run("fluxmem.internal.verifying", namespace=self.namespace)
        return bool(rows[0]["verifying"])

    def _embed(self, batch: _Batch) -> None:
        if not batch.rows:
            return
        if batch.of_facts:
            columns = {"embedding": vectors(embed_memories(self.embedder, batch.items))}
        else:
            reminded, trajectory = embed_episodes(self.embedder, batch.items)
            columns = {"embedding": vectors(reminded), "trajectory_embedding": vectors(trajectory)}
        for place, row in enumerate(batch.rows):
            row |= {name: column[place] for name, column in columns.items()}
            row["embedding_model"] = self.embedder.name

    def _write(self, batch: _Batch) -> None:
        if not batch.rows:
            return
        store = {
            batch.argument: batch.rows,
            "reason": "ingest",
            **({"revive": False} if batch.of_facts else {}),
        }
        calls: list[Call] = [(batch.statement, store), *self._guarding(batch)]
        shared = {"namespace": self.namespace, "actor": self.actor, "runId": self.run_id}
        done = self.database.together(calls, **shared)
        if not done:
            run_id = self.run_id if self._wrote else None
            check_room(self.database, self.namespace, len(batch.rows), run_id)
        self._wrote = True
        stored, *guarded = done
        created = sum(row["created"] for row in stored)
        self.report.quarantined += sum(len(rows[0]["quarantined"]) for rows in guarded)
        self.report.created += created
        self.report.unchanged += len(batch.rows) - created


def item_name(item: NewMemory | NewEpisode) -> str:
    """Return how a failure names an item: by source and external id, as far as it has them."""
    return f"{item.source or 'item'} {item.external_id or ''}".strip()
