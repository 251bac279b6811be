"""Applies the numbered schema files and checks, at every connect, that the database is what we expect."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from fluxmem_graph.errors import EmbedderMismatch, SchemaMismatch, UnsupportedServer
from fluxmem_graph.graph.database import TOO_OLD, Database, Row
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.statements.model import SchemaFile

OLDEST_SERVER = (2026, 1)
_MADE = re.compile(r"CREATE (?:(?:VECTOR|FULLTEXT) )?(?P<kind>INDEX|CONSTRAINT) (?P<name>\w+)")


@dataclass(frozen=True, slots=True)
class SchemaState:
    """What a database has: the versions applied now and before, and the embedder of its vectors."""

    server_version: str
    edition: str
    versions: tuple[int, ...]
    applied_now: tuple[int, ...]
    embedding_model: str
    dimension: int
    exchanging: bool = False
    """Whether `reembed` is exchanging the vectors: until it is done, words and links answer alone."""


def prepare(database: Database, embedder: Embedder) -> SchemaState:
    """Check the server and its version, apply missing schema files and check the embedder.

    Raises Unavailable, ConfigurationError, UnsupportedServer, SchemaMismatch or EmbedderMismatch before
    anything is written.
    """
    check_version(database.verify())
    server = database.run("fluxmem.internal.components")[0]
    files = {file.version: file for file in database.catalogue.schema}
    recorded, exchanging = _recorded(database, files, embedder)
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
        # A client with another embedder that connects first at the same time must not record half of it.
        _, exchanging = _recorded(database, files, embedder)
    if missing:
        # By name: awaiting all indexes fails on any failed index of somebody else's.
        database.apply([f"CALL db.awaitIndex('{name}', 300)" for name in ("memory_embedding", "memory_text")])
    return SchemaState(
        server["version"], server["edition"], tuple(sorted(files)), tuple(missing), embedder.name,
        embedder.dimension, exchanging,
    )  # fmt: skip


def _recorded(
    database: Database, files: Mapping[int, SchemaFile], embedder: Embedder
) -> tuple[dict[int, Row], bool]:
    """Return what the database says of its schema by version, and whether its vectors are being exchanged."""
    recorded = {row["version"]: row for row in database.run("fluxmem.internal.schema")}
    for version, row in recorded.items():
        if version not in files or row["checksum"] != files[version].checksum:
            raise SchemaMismatch(
                f"schema file {version:03} of the database is not the one of this version of fluxmem; "
                "install the version that made it, or use another database"
            )
    exchanging = any(row["exchanging"] for row in recorded.values())
    # While vectors are exchanged neither embedder's are complete, and none is compared with.
    for row in () if exchanging else recorded.values():
        _check_embedder(row["embedding_model"], row["dimension"], embedder)
    return recorded, exchanging


def schema_problem(database: Database) -> tuple[str, bool]:
    """Say what of the schema differs from this version's files, and whether applying them mends it."""
    recorded = {row["version"]: row["checksum"] for row in database.run("fluxmem.internal.schema")}
    files = {file.version: file.checksum for file in database.catalogue.schema}
    changed = sorted(v for v, checksum in recorded.items() if files.get(v) != checksum)
    if changed:
        return f"files {_numbers(changed)} are those of another version of fluxmem", False
    missing = sorted(files.keys() - recorded.keys())
    return (f"files {_numbers(missing)} are not applied" if missing else "", True)


def _numbers(versions: Iterable[int]) -> str:
    return ", ".join(f"{version:03}" for version in versions)


def index_names(database: Database) -> set[str]:
    """Return the names of all indexes and constraints that the schema files make."""
    return {match["name"] for match, _ in _made(database)}


def restore_indexes(database: Database, dimension: int) -> None:
    """Make the indexes of the schema files that are missing or failed anew, and wait for them."""
    states = {row["name"]: row["state"] for row in database.run("fluxmem.internal.indexes")}
    for match, text in _made(database):
        name, state = match["name"], states.get(match["name"])
        if state == "FAILED":
            database.apply([f"DROP {match['kind']} {name} IF EXISTS"])
        if state in ("FAILED", None):
            database.apply([text], **_used((text,), dimension=dimension))
            database.apply([f"CALL db.awaitIndex('{name}', 300)"])


NEXT_INDEX = "memory_next_embedding"
_VECTOR_INDEX = "memory_embedding"


def prepare_next_index(database: Database, dimension: int) -> None:
    """Make the index of the vectors that stand beside those in use, of the given length."""
    found = {row["name"]: row for row in database.run("fluxmem.internal.indexes")}
    if NEXT_INDEX in found and (
        found[NEXT_INDEX]["dimension"] != dimension or found[NEXT_INDEX]["state"] == "FAILED"
    ):
        drop_next_index(database)
    text = (
        _vector_index(database).replace(_VECTOR_INDEX, NEXT_INDEX).replace("m.embedding", "m.next_embedding")
    )
    database.apply([text], dimension=dimension)
    database.apply([f"CALL db.awaitIndex('{NEXT_INDEX}', 300)"])


def drop_next_index(database: Database) -> None:
    """Drop that index again."""
    database.apply([f"DROP INDEX {NEXT_INDEX} IF EXISTS"])


def renew_vector_index(database: Database, dimension: int) -> None:
    """Replace the index of the vectors in use by an empty one of another length, in one transaction."""
    dropping = f"DROP INDEX {_VECTOR_INDEX} IF EXISTS"
    database.apply([dropping, _vector_index(database)], at_once=True, dimension=dimension)


def await_vector_index(database: Database) -> None:
    """Wait until the index of the vectors in use holds all of them."""
    database.apply([f"CALL db.awaitIndex('{_VECTOR_INDEX}', 300)"])


def _vector_index(database: Database) -> str:
    return next(text for match, text in _made(database) if match["name"] == _VECTOR_INDEX)


def _made(database: Database) -> list[tuple[re.Match[str], str]]:
    texts = [text for file in database.catalogue.schema for text in file.statements]
    return [(match, text) for text in texts if (match := _MADE.search(text))]


def _used(statements: tuple[str, ...], **parameters: Any) -> dict[str, Any]:
    return {k: v for k, v in parameters.items() if any(f"${k}" in text for text in statements)}


def check_version(version: str) -> None:
    """Refuse a server without Cypher 25's filtered vector search. Raises UnsupportedServer."""
    parts = re.match(r"(\d+)\.(\d+)", version)
    if parts is None or (int(parts[1]), int(parts[2])) < OLDEST_SERVER:
        raise UnsupportedServer(TOO_OLD.format(f"Neo4j {version}"))


def _check_embedder(model: str, dimension: int, embedder: Embedder) -> None:
    if (model, dimension) != (embedder.name, embedder.dimension):
        raise EmbedderMismatch(
            f"the database holds vectors of {model} ({dimension} dimensions), the embedder is "
            f"{embedder.name} ({embedder.dimension}); set FLUXMEM_EMBEDDER={model}, or use another "
            "database or profile, or change its vectors with `fluxmem reembed`"
        )
