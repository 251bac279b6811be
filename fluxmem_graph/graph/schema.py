"""Applies the numbered schema files and checks, at every connect, that the database is what we expect."""

import re
from dataclasses import dataclass

from fluxmem_graph.errors import EmbedderMismatch, SchemaMismatch, UnsupportedServer
from fluxmem_graph.graph.database import Database
from fluxmem_graph.protocols import Embedder

OLDEST_SERVER = (2026, 1)


@dataclass(frozen=True, slots=True)
class SchemaState:
    """What a database has: the versions applied now and before, and the embedder of its vectors."""

    server_version: str
    edition: str
    versions: tuple[int, ...]
    applied_now: tuple[int, ...]
    embedding_model: str
    dimension: int


def prepare(database: Database, embedder: Embedder) -> SchemaState:
    """Check the server's version, apply missing schema files and check the embedder.

    Raises UnsupportedServer, SchemaMismatch or EmbedderMismatch before anything is written.
    """
    server = database.run("fluxmem.internal.components")[0]
    check_version(server["version"])
    recorded = {row["version"]: row for row in database.run("fluxmem.internal.schema")}
    files = {file.version: file for file in database.catalogue.schema}
    for version, row in recorded.items():
        if version not in files or row["checksum"] != files[version].checksum:
            raise SchemaMismatch(
                f"schema file {version:03} of the database is not the one of this version of fluxmem; "
                "install the version that made it, or use another database"
            )
    for row in recorded.values():
        _check_embedder(row["embedding_model"], row["dimension"], embedder)
    missing = sorted(files.keys() - recorded.keys())
    for version in missing:
        file = files[version]
        database.apply(file.statements, **_used(file.statements, dimension=embedder.dimension))
        database.run(
            "fluxmem.internal.recordSchema",
            version=version,
            checksum=file.checksum,
            embeddingModel=embedder.name,
            dimension=embedder.dimension,
        )
    if missing:
        # By name: awaiting all indexes fails on any failed index of somebody else's.
        database.apply([f"CALL db.awaitIndex('{name}', 300)" for name in ("memory_embedding", "memory_text")])
    return SchemaState(
        server["version"], server["edition"], tuple(sorted(files)), tuple(missing), embedder.name,
        embedder.dimension,
    )  # fmt: skip


def _used(statements: tuple[str, ...], **parameters: object) -> dict[str, object]:
    return {k: v for k, v in parameters.items() if any(f"${k}" in text for text in statements)}


def check_version(version: str) -> None:
    """Refuse a server without Cypher 25's filtered vector search. Raises UnsupportedServer."""
    parts = re.match(r"(\d+)\.(\d+)", version)
    if parts is None or (int(parts[1]), int(parts[2])) < OLDEST_SERVER:
        raise UnsupportedServer(
            f"Neo4j {version} is too old; fluxmem needs 2026.01 or newer: upgrade it, or unset "
            "NEO4J_URI for the embedded server"
        )


def _check_embedder(model: str, dimension: int, embedder: Embedder) -> None:
    if (model, dimension) != (embedder.name, embedder.dimension):
        raise EmbedderMismatch(
            f"the database holds vectors of {model} ({dimension} dimensions), the embedder is "
            f"{embedder.name} ({embedder.dimension}); set FLUXMEM_EMBEDDER={model}, or use another "
            "database or profile"
        )
