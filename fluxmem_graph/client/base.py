"""What every part of the façade shares: one namespace, its database and its models."""

from functools import cached_property
from typing import Any, Self

from fluxmem_graph.client.connecting import connect_database
from fluxmem_graph.client.metering import MeteredEmbedder, MeteredLLM
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.graph.database import Database
from fluxmem_graph.graph.schema import SchemaState
from fluxmem_graph.llm import load_llm
from fluxmem_graph.operations.guards import Guard
from fluxmem_graph.operations.moving import Export
from fluxmem_graph.protocols import LLM, Embedder
from fluxmem_graph.settings import Settings, load_settings


class Connected:
    """One namespace of a database, with the models of its settings."""

    def __init__(
        self,
        database: Database,
        schema: SchemaState,
        embedder: Embedder,
        llm: LLM | None,
        settings: Settings,
        actor: str,
    ) -> None:
        """Use `connect` instead, which checks the database first."""
        self.database = database
        self.schema = schema
        self.settings = settings
        self.embedder = embedder
        self.llm = llm
        self.namespace = settings.namespace
        self.actor = actor

    @classmethod
    def connect(
        cls,
        settings: Settings | None = None,
        *,
        embedder: Embedder | None = None,
        llm: LLM | None = None,
        actor: str = "python",
        **overrides: Any,
    ) -> Self:
        """Connect to `NEO4J_URI`, or to the embedded server, which is started when it is down.

        `overrides` are settings by name, such as `namespace="shop"`, and win over `settings`. Raises
        ConfigurationError, ServerError, Unavailable, UnsupportedServer, SchemaMismatch or EmbedderMismatch.
        """
        settings = load_settings(settings, **overrides)
        metered = MeteredEmbedder(embedder or load_embedder(settings))
        database, schema = connect_database(settings, metered)
        model = llm or load_llm(settings)
        return cls(database, schema, metered, MeteredLLM(model) if model else None, settings, actor)

    def within(self, namespace: str) -> Self:
        """Return the memory of another namespace over the same connection; closing one closes both.

        Raises ConfigurationError.
        """
        settings = load_settings(self.settings, namespace=namespace)
        return type(self)(self.database, self.schema, self.embedder, self.llm, settings, self.actor)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections; the server goes on running."""
        self.database.close()

    @cached_property
    def _guard(self) -> Guard:
        return Guard(self.settings.guards)

    def _export(self, namespace: str | None = None) -> Export:
        state = self.schema
        return Export(self.database, namespace or self.namespace, state.embedding_model, state.dimension)
