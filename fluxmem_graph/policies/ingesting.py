"""Loading items under a policy: one decision per memory, applied to the real store."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from fluxmem_graph.errors import InvalidInput, LLMError
from fluxmem_graph.graph.database import Row, vectors
from fluxmem_graph.ingest import Item
from fluxmem_graph.ingest.values import content_hash, memory_key
from fluxmem_graph.operations.embedded import embed_memories
from fluxmem_graph.operations.ingesting import BATCH, OTHER_TEXT, Ingest, item_name
from fluxmem_graph.operations.memories import Memories
from fluxmem_graph.operations.namespaces import check_room
from fluxmem_graph.operations.rows import cleaned, new_id
from fluxmem_graph.policies.applying import Applier, read_note
from fluxmem_graph.policies.features import Chunk, cost
from fluxmem_graph.policies.language import LLMPolicy
from fluxmem_graph.policies.memory import Capacity, Entry, no_room
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
    """The real store as a policy sees it: what this run wrote is held; what was there before can be read.

    `capacity` bounds what is held: what goes beyond it is refused.
    """

    applier: Applier
    capacity: Capacity | None
    scratchpad: str = ""
    entries: dict[str, Entry] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    step: int = 0
    last: str | None = None

    @property
    def memories(self) -> Memories:
        """The memories that operations are applied to."""
        return self.applier.memories

    @property
    def tokens(self) -> int:
        """What is held costs this much."""
        return sum(entry.tokens for entry in self.entries.values())

    def read(self, chunk: Chunk, top_k: int) -> list[tuple[Entry, float]]:
        """Return the `top_k` facts nearest to a chunk in the whole namespace."""
        self.counts["read"] += 1
        database, namespace = self.memories.database, self.memories.namespace
        [vector] = vectors(np.asarray([chunk.vector], np.float32))
        rows = database.run("fluxmem.internal.nearest", namespace=namespace, embedding=vector, topK=top_k)
        found = {memory.id: memory for memory in self.memories.read([row["id"] for row in rows])}
        return [
            (self.entries.get(row["id"]) or _entry(found[row["id"]], chunk), row["cosine"])
            for row in rows
            if row["id"] in found
        ]

    def apply(self, policy: Policy, operations: Sequence[AtomicOperation], chunk: Chunk) -> list[Applied]:
        """Apply what a policy decided about a chunk, in order, and go on to the next one.

        Raises QuotaExceeded where the namespace is full: no later chunk would fare better.
        """
        outcomes = [self._perform(policy, operation, chunk) for operation in operations]
        self.step += 1
        return outcomes

    def _perform(self, policy: Policy, operation: AtomicOperation, chunk: Chunk) -> Applied:
        if problem := self._no_room(operation):
            outcome = Applied(operation, problem=problem)
        else:
            [outcome] = self.applier.apply([operation], policy.name, policy.version)
            if isinstance(operation, Create) and not outcome.done:
                written = any(self.counts[kind] for kind in ("create", "update", "delete"))
                run_id = self.memories.run_id if written else None
                check_room(self.memories.database, self.memories.namespace, run_id=run_id)
        self.counts[kind_of(operation) if outcome.done else "failed"] += 1
        if outcome.done:
            self._mirror(outcome, chunk)
        return outcome

    def _no_room(self, operation: AtomicOperation) -> str:
        match operation:
            case Create(memory=memory):
                return no_room(self, cost(memory), 1)
            case Update(id=name, content=content) if name in self.entries:
                former = self.entries[name]
                return no_room(self, cost(replace(former.memory, content=content)) - former.tokens, 0)
            case _:
                return ""

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
    """One run over a stream of items under a policy; `run_id` is in every operation it logs, notes aside."""

    store: GraphStore
    policy: Policy
    run_id: str = field(default_factory=new_id)
    report: IngestReport = field(default_factory=IngestReport)

    def __post_init__(self) -> None:
        """Have the store's operations logged under the run."""
        memories = replace(self.store.memories, run_id=self.run_id)
        self.store.applier = replace(self.store.applier, memories=memories)

    def run(self, items: Iterable[Item], progress: Callable[[int], None] | None = None) -> IngestReport:
        """Decide about every memory; episodes are stored as ever. Memories stored already are left alone.

        Raises EmbeddingError, QuotaExceeded or Unavailable.
        """
        started = time.perf_counter()
        self.policy.begin()
        self.store.scratchpad = read_note(self.store.memories)
        others, done = self._others(), 0
        for part in _parts(items):
            if isinstance(part, NewMemory):
                self._decide(part)
                done += 1
            else:
                others.run(part)
                done += len(part)
            if progress is not None:
                progress(done)
        self.report.run_id = self.run_id
        self.report.operations = dict(sorted(self.store.counts.items()))
        self.report.seconds = time.perf_counter() - started
        return self.report

    def _others(self) -> Ingest:
        memories = self.store.memories
        return Ingest(
            memories.database,
            memories.embedder,
            memories.namespace,
            memories.actor,
            memories.guard,
            self.run_id,
            self.report,
        )

    def _decide(self, item: NewMemory) -> None:
        where = item_name(item)
        try:
            memory = cleaned(item)
            key = memory_key(memory.source, memory.external_id, memory.content)
            if stored := self._known(key):
                if self._says(stored, memory):
                    self.report.unchanged += 1
                else:
                    self.report.failures.append(Failure(where, OTHER_TEXT))
                return
            [vector] = embed_memories(self.store.memories.embedder, [memory])
            chunk = Chunk(key, memory, vector)
            outcomes = self.store.apply(self.policy, self.policy.decide(chunk, self.store), chunk)
        except (InvalidInput, LLMError) as error:
            self.report.failures.append(Failure(where, str(error)))
            return
        made = [outcome for outcome in outcomes if outcome.done and isinstance(outcome.operation, Create)]
        failures = [
            Failure(where, f"{kind_of(outcome.operation)}: {outcome.problem}")
            for outcome in outcomes
            if not outcome.done
        ]
        self.report.created += bool(made)
        self.report.quarantined += any(outcome.quarantined for outcome in made)
        self.report.skipped += not made and not failures
        self.report.failures += failures

    def _known(self, key: str) -> list[Row]:
        memories = self.store.memories
        return memories.database.run("fluxmem.internal.known", namespace=memories.namespace, keys=[key])

    def _says(self, stored: list[Row], memory: NewMemory) -> bool:
        # What a model made of a chunk is in its own words, which tell nothing about the chunk's.
        return isinstance(self.policy, LLMPolicy) or content_hash(memory.content) in stored[0]["hashes"]


def _parts(items: Iterable[Item]) -> Iterator[NewMemory | list[Item]]:
    """Yield each memory by itself, and what comes between two of them in batches."""
    waiting: list[Item] = []
    for item in items:
        if waiting and (isinstance(item, NewMemory) or len(waiting) == BATCH):
            yield waiting
            waiting = []
        if isinstance(item, NewMemory):
            yield item
        else:
            waiting.append(item)
    if waiting:
        yield waiting
