"""What is checked before the first query: reachability, login, version, schema, embedder."""

import io
import socket
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
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


class OldServer:
    """Speaks as much Bolt as it takes to say a version; whatever it is asked, it answers with that."""

    def __init__(self, version: str, bolt: tuple[int, int]) -> None:
        fields = {"server": f"Neo4j/{version}", "connection_id": "bolt-1"}
        words = b"".join(
            bytes([0x80 + len(text)]) + text.encode() for pair in fields.items() for text in pair
        )
        success = b"\xb1\x70\xa2" + words
        self._answer = len(success).to_bytes(2, "big") + success + b"\0\0"
        self._bolt = bolt
        self._listening = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def uri(self) -> str:
        return f"bolt://127.0.0.1:{self._listening.getsockname()[1]}"

    def close(self) -> None:
        self._listening.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listening.accept()
                threading.Thread(target=self._serve, args=(client.makefile("rwb"),), daemon=True).start()

    def _serve(self, client: io.BufferedRWPair) -> None:
        with suppress(OSError), client:
            client.read(20)
            client.write(bytes([0, 0, *reversed(self._bolt)]))
            client.flush()
            while size := client.read(2):
                if client.read(int.from_bytes(size, "big")) == b"":
                    client.write(self._answer)
                    client.flush()


@pytest.fixture
def old_server(server_settings: Settings) -> Iterator[Settings]:
    server = OldServer("5.26.0", bolt=(5, 4))
    yield server_settings.model_copy(update={"neo4j_uri": server.uri})
    server.close()


def test_a_server_that_knows_no_statement_of_ours_is_told_by_its_version(old_server: Settings) -> None:
    calls: list[Callable[[], object]] = [
        lambda: FluxMem.connect(old_server),
        lambda: FluxMem.reembed(old_server, embedder=HashingEmbedder(128)),
    ]
    for call in calls:
        with pytest.raises(UnsupportedServer, match=r"Neo4j 5\.26\.0 is too old.*2026\.01"):
            call()
    found = [check for check in FluxMem.diagnose(old_server).checks if not check.ok]
    assert [(check.name, check.detail) for check in found] == [("version", "Neo4j 5.26.0")]


def test_a_server_that_is_too_old_to_be_asked_is_told_too(server_settings: Settings) -> None:
    server = OldServer("4.4.0", bolt=(4, 4))
    settings = server_settings.model_copy(update={"neo4j_uri": server.uri})
    with pytest.raises(UnsupportedServer, match=r"too old.*2026\.01"):
        FluxMem.connect(settings)
    found = [check for check in FluxMem.diagnose(settings).checks if not check.ok]
    assert [check.name for check in found] == ["connection"] and "too old" in found[0].detail
    server.close()


def test_a_database_without_a_schema_has_no_vectors_to_change(
    connected: FluxMem, server_settings: Settings
) -> None:
    recorded = connected.database.call("MATCH (s:SchemaVersion) RETURN properties(s) AS kept")
    connected.database.call("MATCH (s:SchemaVersion) DELETE s")
    try:
        with pytest.raises(ConfigurationError, match=r"no schema yet.*fluxmem migrate"):
            FluxMem.reembed(server_settings, embedder=HashingEmbedder(128))
    finally:
        connected.database.call(
            "UNWIND $rows AS row CREATE (s:SchemaVersion) SET s = row.kept", rows=recorded
        )


@pytest.mark.parametrize("version", ["5.26.0", "4.4.1", "2025.12.1", "unknown", ""])
def test_an_older_server_is_refused(version: str) -> None:
    with pytest.raises(UnsupportedServer, match=r"2026\.01"):
        check_version(version)


@pytest.mark.parametrize("version", ["2026.01.0", "2026.08.1", "2027.01", "2026.10.0-rc1"])
def test_a_newer_server_is_welcome(version: str) -> None:
    check_version(version)


def test_more_threads_than_connections_wait_their_turn(memory: FluxMem, server_settings: Settings) -> None:
    def connections() -> int:
        found = memory.database.call("CALL dbms.listConnections() YIELD userAgent RETURN userAgent")
        return sum(row["userAgent"].startswith("fluxmem") for row in found)

    before = connections()
    memory.add("Boats leave pier 4 at nine.")
    with FluxMem.connect(server_settings, namespace=memory.namespace, pool_size=2) as narrow:
        begun = threading.Barrier(16)

        def search(_: int) -> int:
            begun.wait(30)
            return sum(len(narrow.search("boats")) for _ in range(5))

        with ThreadPoolExecutor(16) as threads:
            assert list(threads.map(search, range(16))) == [5] * 16
        assert connections() - before <= 2
