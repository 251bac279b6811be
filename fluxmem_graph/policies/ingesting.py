"""Loading items under a policy: one decision per memory, applied to the real store."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fluxmem_graph.errors import InvalidInput, LLMError
from fluxmem_graph.graph.database import vectors
from fluxmem_graph.ingest import Item
from fluxmem_graph.ingest.values import memory_key
from fluxmem_graph.operations.embedded import embed_memories
from fluxmem_graph.operations.ingesting import Ingest
from fluxmem_graph.operations.memories import Memories
from fluxmem_graph.operations.rows import cleaned
from fluxmem_graph.policies.applying import Applier, read_note
from fluxmem_graph.policies.features import Chunk, cost
from fluxmem_graph.policies.memory import Capacity, Entry
from fluxmem_graph.policies.policy import Policy
from fluxmem_graph.types import (
    Applied,
    AtomicOperation,
    Create,
    Delete,
    Failure,
    IngestReport,
    Memory,
    NewMemory,
    Note,
    Update,
    kind_of,
)


@dataclass(slots=True)
class GraphStore:
    """The real store as a policy sees it: what this run wrote is held; what was there before can be read."""

    memories: Memories
    applier: Applier
    capacity: Capacity | None
    scratchpad: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    step: int = 0
    last: str | None = None

    @property
    def tokens(self) -> int:
        """What is held costs this much."""
        return sum(entry.tokens for entry in self.entries.values())

    def read(self, chunk: Chunk, top_k: int) -> list[tuple[Entry, float]]:
        """Return the facts nearest to a chunk in the whole namespace."""
        self.counts["read"] += 1
        database, namespace = self.memories.database, self.memories.namespace
        [vector] = vectors(np.asarray([chunk.vector], np.float32))
        rows = database.run("fluxmem.search", namespace=namespace, embedding=vector, topK=top_k)
        found = {memory.id: memory for memory in self.memories.read([row["id"] for row in rows])}
        return [
            (self.entries.get(row["id"]) or _entry(found[row["id"]], chunk), row["cosine"])
            for row in rows
            if row["id"] in found and found[row["id"]].layer == "semantic"
        ]

    def apply(self, policy: Policy, operations: Sequence[AtomicOperation], chunk: Chunk) -> list[Applied]:
        """Apply what a policy decided about a chunk, and go on to the next one."""
        outcomes = self.applier.apply(operations, policy.name, policy.version)
        for outcome in outcomes:
            self.counts[kind_of(outcome.operation) if outcome.done else "failed"] += 1
            if outcome.done:
                self._mirror(outcome, chunk)
        self.step += 1
        return outcomes

    def _mirror(self, outcome: Applied, chunk: Chunk) -> None:
        match outcome.operation:
            case Create(memory=memory) if outcome.id is not None:
                self._put(Entry(outcome.id, memory, chunk.vector, (chunk.id,), self.step, cost(memory)))
            case Update(id=name, content=content) if name in self.entries:
                former = self.entries[name]
                memory = replace(former.memory, content=content)
                sources = (*former.sources, chunk.id)
                self._put(Entry(name, memory, former.vector, sources, self.step, cost(memory)))
            case Delete(id=name):
                self.entries.pop(name, None)
                self.last = None if self.last == name else self.last
            case Note(text=text):
                self.scratchpad = text
            case _:
                pass

    def _put(self, entry: Entry) -> None:
        self.entries[entry.id] = entry
        self.last = entry.id


def _entry(memory: Memory, chunk: Chunk) -> Entry:
    """Return a memory of an earlier run as an entry; policies look at its text and time only."""
    new = NewMemory(memory.content, speaker=memory.speaker, occurred_at=memory.occurred_at)
    return Entry(memory.id, new, np.zeros_like(chunk.vector), (memory.id,), 0, cost(new))


@dataclass(slots=True)
class PolicyIngest:
    """One run over a stream of items under a policy; `capacity` bounds what this run keeps."""

    store: GraphStore
    policy: Policy
    report: IngestReport = field(default_factory=IngestReport)

    def run(self, items: Iterable[Item], progress: Callable[[int], None] | None = None) -> IngestReport:
        """Decide about every memory; episodes are stored as ever. Memories stored already are left alone.

        Raises EmbeddingError or Unavailable.
        """
        started = time.perf_counter()
        self.policy.begin()
        memories = self.store.memories
        self.store.scratchpad = read_note(memories)
        for done, item in enumerate(items, start=1):
            if isinstance(item, NewMemory):
                self._decide(item)
            elif isinstance(item, Failure):
                self.report.failures.append(item)
            else:
                Ingest(
                    memories.database,
                    memories.embedder,
                    memories.namespace,
                    memories.actor,
                    memories.guard,
                    report=self.report,
                ).run([item])
            if progress is not None:
                progress(done)
        self.report.operations = dict(sorted(self.store.counts.items()))
        self.report.seconds = time.perf_counter() - started
        return self.report

    def _decide(self, item: NewMemory) -> None:
        try:
            memory = cleaned(item)
            key = memory_key(memory.source, memory.external_id, memory.content)
            if self._is_stored(key):
                self.report.unchanged += 1
                return
            [vector] = embed_memories(self.store.memories.embedder, [memory])
            chunk = Chunk(key, memory, vector)
            outcomes = self.store.apply(self.policy, self.policy.decide(chunk, self.store), chunk)
        except (InvalidInput, LLMError) as error:
            where = f"{item.source or 'item'} {item.external_id or ''}".strip()
            self.report.failures.append(Failure(where, str(error)))
            return
        made = any(outcome.done and isinstance(outcome.operation, Create) for outcome in outcomes)
        self.report.created += made
        self.report.skipped += not made

    def _is_stored(self, key: str) -> bool:
        memories = self.store.memories
        return bool(memories.database.run("fluxmem.internal.known", namespace=memories.namespace, keys=[key]))
