"""From settings to a database that is known to fit."""

from urllib.parse import urlsplit

from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.errors import ConfigurationError, ServerError
from fluxmem_graph.graph.database import Database
from fluxmem_graph.graph.schema import SchemaState, prepare
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.settings import Settings


def connect_database(settings: Settings, embedder: Embedder | None = None) -> tuple[Database, SchemaState]:
    """Open the database of the settings, starting the embedded server if need be, and prepare its schema.

    Raises ConfigurationError, ServerError and DatabaseError.
    """
    database = open_database(settings)
    try:
        return database, prepare(database, embedder or load_embedder(settings))
    except BaseException:
        database.close()
        raise


def open_database(settings: Settings) -> Database:
    """Open the database without looking at its schema."""
    uri, username, password = _address(settings)
    return Database(
        uri,
        username,
        password,
        database=settings.neo4j_database,
        pool_size=settings.pool_size,
        timeout_s=settings.timeout_s,
    )


def _address(settings: Settings) -> tuple[str, str, str]:
    if settings.neo4j_uri is None:
        from fluxmem_graph.server import EmbeddedServer

        server = EmbeddedServer(settings)
        status = server.start()
        if status.bolt_uri is None:
            raise ServerError(f"the embedded server is {status.state}; see `fluxmem status`")
        return status.bolt_uri, *server.credentials()
    if "@" in settings.neo4j_uri:
        # Not echoed, nor by the driver's errors: what stands before it may be a password.
        raise ConfigurationError(
            "NEO4J_URI holds a user; write bolt://HOST:7687, and set NEO4J_USERNAME and NEO4J_PASSWORD"
        )
    # The driver would take the local machine for a host that is missing.
    if not urlsplit(settings.neo4j_uri).hostname:
        raise ConfigurationError(f"NEO4J_URI={settings.neo4j_uri} names no host; write bolt://HOST:7687")
    if settings.neo4j_password is None:
        raise ConfigurationError("NEO4J_URI is set but NEO4J_PASSWORD is not; set it too")
    return settings.neo4j_uri, settings.neo4j_username, settings.neo4j_password.get_secret_value()
