"""Atomic operations, and ingesting under a policy."""

from collections.abc import Iterable

from fluxmem_graph.client.facts import Facts
from fluxmem_graph.client.runs import Runs
from fluxmem_graph.ingest import Item
from fluxmem_graph.operations.ingesting import Progress
from fluxmem_graph.policies.applying import CALLER, Applier, read_note
from fluxmem_graph.policies.choosing import capacity_of, choose_policy
from fluxmem_graph.policies.ingesting import GraphStore, PolicyIngest
from fluxmem_graph.settings import PolicyName
from fluxmem_graph.types import Applied, AtomicOperation, IngestReport


class Policies(Facts, Runs):
    """The part of the façade about policies and their operations."""

    @property
    def _applier(self) -> Applier:
        return Applier(self._memories, lambda query, top_k: self.search(query, top_k=top_k))

    def apply(
        self, operations: Iterable[AtomicOperation], *, policy: str = CALLER, version: str = ""
    ) -> list[Applied]:
        """Apply operations in order and return an outcome each: one that can't be done stops no other.

        The log names policy and version as the actor, beside each operation's reason.
        """
        return self._applier.apply(operations, policy, version)

    @property
    def scratchpad(self) -> str:
        """The one text that is always shown to a policy; a Note rewrites it."""
        return read_note(self._memories)

    def ingest(
        self, items: Iterable[Item], progress: Progress | None = None, *, policy: PolicyName | None = None
    ) -> IngestReport:
        """Store a stream of memories and episodes as a policy decides; that of the settings if not given.

        `static` without a capacity stores all in batches; it is safe to repeat and to resume. Raises
        ConfigurationError for a policy that lacks its model.
        """
        settings = self.settings.policy
        name, capacity = policy or settings.name, capacity_of(settings)
        if name == "static" and capacity is None:
            return super().ingest(items, progress)
        store = GraphStore(self._applier, capacity)
        return PolicyIngest(store, choose_policy(name, settings, self.llm)).run(items, progress)
