"""Keeping a memory healthy."""

from functools import cached_property
from typing import Any

from fluxmem_graph.client.connecting import open_database
from fluxmem_graph.client.diagnosing import diagnose
from fluxmem_graph.client.facts import Facts
from fluxmem_graph.graph.schema import check_version
from fluxmem_graph.operations.quarantine import Quarantine
from fluxmem_graph.operations.reembedding import Progress, reembed
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.settings import Settings, load_settings
from fluxmem_graph.types import Diagnosis, Quarantined, Reembedded


class Keeping(Facts):
    """The part of the façade that finds out what is wrong, and decides what may be recalled."""

    @staticmethod
    def diagnose(settings: Settings | None = None, *, fix: bool = False, **overrides: Any) -> Diagnosis:
        """Examine namespace, database and machine, also where `connect` refuses; `fix` repairs what is safe.

        Raises ConfigurationError.
        """
        return diagnose(load_settings(settings, **overrides), fix=fix)

    def doctor(self, *, fix: bool = False) -> Diagnosis:
        """Examine this namespace, its database and its machine; `fix` repairs what is safe."""
        return diagnose(self.settings, fix=fix, embedder=self.embedder)

    @staticmethod
    def reembed(
        settings: Settings | None = None,
        *,
        embedder: Embedder,
        progress: Progress = lambda _done, _what: None,
        **overrides: Any,
    ) -> Reembedded:
        """Change the vectors of the whole database, all its namespaces, to those of another embedder.

        It can be interrupted and run again. Connections that are open then have to connect anew with the
        new embedder. Raises ConfigurationError, Conflict, EmbeddingError, DatabaseError and its kinds.
        """
        chosen = load_settings(settings, **overrides)
        database = open_database(chosen)
        try:
            check_version(database.verify())
            return reembed(database, embedder, progress)
        finally:
            database.close()

    def usage(self) -> dict[str, dict[str, int]]:
        """Return what this connection has asked of its models: totals of `embedder` and, if set, of `llm`."""
        models = {"embedder": self.embedder, "llm": self.llm}
        return {
            name: dict(getattr(model, "usage", {})) for name, model in models.items() if model is not None
        }

    @cached_property
    def _quarantine(self) -> Quarantine:
        return Quarantine(self._memories)

    def quarantined(self, top: int = 100) -> list[Quarantined]:
        """Return memories that a guard keeps from being recalled, newest first, with why."""
        return self._quarantine.find(top)

    def release(self, memory_id: str, *, reason: str = "") -> None:
        """Let a quarantined memory be recalled; undo takes that back. Raises NotFound or Conflict."""
        self._quarantine.release(memory_id, reason=reason)

    def drop(self, memory_id: str, *, reason: str = "") -> None:
        """Delete a quarantined memory, or give a rewritten one its former text back; undo takes that back.

        Raises NotFound or Conflict.
        """
        self._quarantine.drop(memory_id, reason=reason)
