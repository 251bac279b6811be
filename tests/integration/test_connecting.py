"""What is checked before the first query: reachability, login, version, schema, embedder."""

import socket
import time
from collections.abc import Sequence
from pathlib import Path
from shutil import copytree

import pytest
from pydantic import SecretStr

from fluxmem_graph import FluxMem, NewMemory, Settings
from fluxmem_graph.client import open_database
from fluxmem_graph.embedding import HashingEmbedder
from fluxmem_graph.errors import (
    ConfigurationError,
    EmbedderMismatch,
    EmbeddingError,
    SchemaMismatch,
    Unavailable,
    UnsupportedServer,
)
from fluxmem_graph.graph.schema import check_version, prepare
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.statements import cypher_folder, read_catalogue
from tests.integration.graphs import count_nodes


class Renamed:
    """An embedder of another name."""

    dimension = 384

    def __init__(self, name: str) -> None:
        self.name = name

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        return HashingEmbedder(self.dimension).embed(texts)


class Shorter(Renamed):
    """An embedder whose vectors are not as long as it says."""

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        return HashingEmbedder(128).embed(texts)


def test_a_first_and_a_second_connection_see_one_schema(server_settings: Settings) -> None:
    with FluxMem.connect(server_settings) as memory, FluxMem.connect(server_settings) as again:
        assert memory.schema.versions == again.schema.versions == (1, 2, 3, 4)
        assert again.schema.applied_now == ()
        assert memory.schema.server_version >= "2026.01"


def test_overrides_win_over_settings(server_settings: Settings) -> None:
    with FluxMem.connect(server_settings, namespace="shop", actor="till") as memory:
        assert (memory.namespace, memory.settings.neo4j_uri) == ("shop", server_settings.neo4j_uri)
        with pytest.raises(ConfigurationError, match="namespace"):
            FluxMem.connect(server_settings, namespace="")


def test_nothing_listening_is_said_at_once_with_the_next_step(server_settings: Settings) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        uri = f"bolt://127.0.0.1:{free.getsockname()[1]}"
    started = time.monotonic()
    with pytest.raises(Unavailable, match="fluxmem up"):
        FluxMem.connect(server_settings, neo4j_uri=uri)
    assert time.monotonic() - started < 20


def test_a_wrong_password_is_a_matter_of_configuration(server_settings: Settings) -> None:
    with pytest.raises(ConfigurationError, match="NEO4J_PASSWORD") as raised:
        FluxMem.connect(server_settings, neo4j_password=SecretStr("not-the-password"))
    assert "not-the-password" not in str(raised.value)


def test_an_address_without_a_password_is_refused(server_settings: Settings) -> None:
    settings = server_settings.model_copy(update={"neo4j_password": None})
    with pytest.raises(ConfigurationError, match="NEO4J_PASSWORD"):
        FluxMem.connect(settings)


@pytest.mark.parametrize("uri", ["not an address", "http://127.0.0.1:7474", "bolt://", "bolt://:7687", "::"])
def test_an_address_that_is_none_is_refused(server_settings: Settings, uri: str) -> None:
    with pytest.raises(ConfigurationError):
        FluxMem.connect(server_settings, neo4j_uri=uri)


@pytest.mark.parametrize(
    "other", [Renamed("other-model"), HashingEmbedder(128), HashingEmbedder(512)], ids=lambda e: e.name
)
def test_another_embedder_is_refused_with_both_names(
    connected: FluxMem, server_settings: Settings, other: HashingEmbedder | Renamed
) -> None:
    with pytest.raises(EmbedderMismatch) as raised:
        FluxMem.connect(server_settings, embedder=other, namespace="test-mismatch")
    message = str(raised.value)
    for part in (connected.embedder.name, other.name, str(other.dimension), "FLUXMEM_EMBEDDER="):
        assert part in message
    assert connected.database.call("MATCH (n:Namespace {name: 'test-mismatch'}) RETURN n") == []


def test_vectors_shorter_than_promised_are_never_stored(memory: FluxMem) -> None:
    memory.embedder = Shorter("hashing-384")
    with pytest.raises(EmbeddingError, match="384"):
        memory.add("a fact")
    with pytest.raises(EmbeddingError, match="384"):
        memory.ingest([NewMemory("a fact")])
    assert count_nodes(memory) == 0


@pytest.mark.parametrize("change", ["changed", "missing"])
def test_a_schema_of_another_version_is_refused(
    connected: FluxMem, server_settings: Settings, tmp_path: Path, change: str
) -> None:
    folder = tmp_path / "cypher"
    copytree(cypher_folder(), folder)
    last = max((folder / "schema").iterdir())
    if change == "missing":
        last.unlink()
    else:
        last.write_text(f"{last.read_text()}\nCREATE INDEX other IF NOT EXISTS FOR (n:Other) ON (n.id);\n")
    database = open_database(server_settings)
    try:
        database.catalogue = read_catalogue(folder)
        with pytest.raises(SchemaMismatch, match=last.name[:3]):
            prepare(database, connected.embedder)
    finally:
        database.close()


def test_rewording_a_comment_is_no_other_schema(
    connected: FluxMem, server_settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "cypher"
    copytree(cypher_folder(), folder)
    last = max((folder / "schema").iterdir())
    last.write_text(f"// Reworded.\n{last.read_text()}")
    database = open_database(server_settings)
    try:
        database.catalogue = read_catalogue(folder)
        assert prepare(database, connected.embedder).applied_now == ()
    finally:
        database.close()


@pytest.mark.parametrize("version", ["5.26.0", "4.4.1", "2025.12.1", "unknown", ""])
def test_an_older_server_is_refused(version: str) -> None:
    with pytest.raises(UnsupportedServer, match=r"2026\.01"):
        check_version(version)


@pytest.mark.parametrize("version", ["2026.01.0", "2026.08.1", "2027.01", "2026.10.0-rc1"])
def test_a_newer_server_is_welcome(version: str) -> None:
    check_version(version)
