"""Backup, restore and another embedder, on a server of their own."""

import asyncio
import signal
import stat
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fluxmem_graph import AsyncFluxMem, FluxMem, NewEpisode, NewMemory, NewStep, Settings
from fluxmem_graph.embedding import HashingEmbedder
from fluxmem_graph.errors import ConfigurationError, Conflict, EmbedderMismatch, ServerError
from fluxmem_graph.operations.reembedding import PAGE
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.server import EmbeddedServer
from fluxmem_graph.server.backup import back_up, restore
from fluxmem_graph.stages.formation import EXCHANGING

pytestmark = [pytest.mark.slow, pytest.mark.faults]

FACTS = 2 * PAGE + 50

UNTIL_KILLED = """
import sys, time
from pathlib import Path
from fluxmem_graph import FluxMem, Settings
from fluxmem_graph.embedding import HashingEmbedder

class Stalling(HashingEmbedder):
    calls = 0

    def embed(self, texts):
        self.calls += bool(texts)
        if self.calls == 3:
            print("now", flush=True)
            time.sleep(600)
        return super().embed(texts)

settings = Settings(home=Path(sys.argv[1]), profile="kept", embedder="hashing", server_heap_mb=512)
FluxMem.reembed(settings, embedder=Stalling(128))
"""


class Counting(HashingEmbedder):
    """Counts the texts that it embeds."""

    texts = 0

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        self.texts += len(texts)
        return super().embed(texts)


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    home = tmp_path_factory.mktemp("kept")
    made = Settings(home=home, profile="kept", embedder="hashing", server_heap_mb=512, namespace="one")
    yield made
    EmbeddedServer(made).stop()


@pytest.fixture(scope="module")
def filled(settings: Settings) -> Settings:
    with FluxMem.connect(settings) as memory:
        memory.ingest(NewMemory(f"Boat {n} leaves pier {n}.", str(n), "notes") for n in range(FACTS))
        memory.ingest([NewEpisode("Find the boat.", (NewStep("a pier", "look"),), "run", "notes")])
    with FluxMem.connect(settings, namespace="two") as memory:
        memory.add("Tea is hot.")
    return settings


def quiet(_: str) -> None:
    return


def lengths(memory: FluxMem) -> list[dict[str, int]]:
    text = (
        "MATCH (m:Memory) RETURN size(m.embedding) AS length, size(m.trajectory_embedding) AS trajectory, "
        "count(m.next_embedding) AS beside, count(*) AS memories ORDER BY memories"
    )
    return memory.database.call(text)


def test_a_backup_brings_back_what_was_there(filled: Settings, tmp_path: Path) -> None:
    server, file = EmbeddedServer(filled), tmp_path / "kept.tar.gz"
    done = back_up(server, file, quiet)
    assert server.status().state == "running"
    assert (done.bytes, done.stopped_s > 0) == (file.stat().st_size, True)
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert list(tmp_path.iterdir()) == [file]
    with FluxMem.connect(filled) as memory:
        before = memory.stats()
        memory.add("Written after the backup.")
    with pytest.raises(ConfigurationError, match="--yes"):
        restore(server, file, replace=False, progress=quiet)
    restore(server, file, replace=True, progress=quiet)
    assert server.status().state == "running"
    with FluxMem.connect(filled) as memory:
        assert memory.stats() == before
        assert memory.doctor().ok
    leftovers = [path.name for path in filled.profile_home.iterdir() if "restor" in path.name]
    assert leftovers == []


def test_a_file_that_is_no_backup_is_refused_before_anything_stops(filled: Settings, tmp_path: Path) -> None:
    server, file = EmbeddedServer(filled), tmp_path / "other.tar.gz"
    pid = server.start().pid
    file.write_bytes(b"not an archive")
    with pytest.raises(ConfigurationError, match="can't be read"):
        restore(server, file, replace=True, progress=quiet)
    with tarfile.open(file, "w:gz") as archive:
        archive.add(__file__, arcname="something")
    with pytest.raises(ConfigurationError, match="no backup"):
        restore(server, file, replace=True, progress=quiet)
    assert server.status().pid == pid


def test_a_restore_that_fails_keeps_the_former_data(filled: Settings, tmp_path: Path) -> None:
    server, whole, file = EmbeddedServer(filled), tmp_path / "whole.tar.gz", tmp_path / "half.tar.gz"
    back_up(server, whole, quiet)
    with tarfile.open(whole) as archive:
        archive.extractall(tmp_path / "content", filter="data")
    with tarfile.open(file, "w:gz") as archive:
        for name in ("fluxmem-backup.json", "password"):
            archive.add(tmp_path / "content" / name, arcname=name)
    with pytest.raises(ServerError, match="former data is back"):
        restore(server, file, replace=True, progress=quiet)
    assert server.status().state == "running"
    with FluxMem.connect(filled, namespace="two") as memory:
        assert [hit.content for hit in memory.search("tea")] == ["Tea is hot."]


def test_a_change_of_the_embedder_survives_a_kill_and_goes_on(filled: Settings) -> None:
    with FluxMem.connect(filled) as open_before:
        command = [sys.executable, "-c", UNTIL_KILLED, str(filled.home)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as client:
            assert client.stdout is not None
            assert client.stdout.readline() == "now\n"
            client.send_signal(signal.SIGKILL)
        assert sum(row["beside"] for row in lengths(open_before)) >= PAGE
        found = open_before.activate("boat 7 leaves pier")
        assert (found.facts[0].external_id, found.signals["dense"]) == ("7", "hashing-384")
        updated = open_before.match({}, top=1)[0]
        open_before.update(updated.id, updated.content.replace("leaves", "sometimes leaves"))

        counting, said = Counting(128), list[str]()
        done = FluxMem.reembed(filled, embedder=counting, progress=lambda _, what: said.append(what))
        assert (done.former, done.model) == ("hashing-384", "hashing-128")
        assert 0 < counting.texts < FACTS
        assert said[-1] == "exchanging"
        assert all(row["length"] == 128 and row["beside"] == 0 for row in lengths(open_before))
        assert {row["trajectory"] for row in lengths(open_before)} == {None, 128}
        found = open_before.activate("boat 7 leaves pier")
        assert found.facts[0].external_id == "7"
        assert found.signals["dense"].startswith("off: the database's vectors were changed")
    with pytest.raises(EmbedderMismatch, match="hashing-128"):
        FluxMem.connect(filled)
    with FluxMem.connect(filled, embedder=HashingEmbedder(128)) as memory:
        assert memory.activate("boat 7 leaves pier").signals["dense"] == "hashing-128"
        assert memory.search("boat 7 leaves pier", top_k=1)[0].external_id == "7"
        names = {row["name"] for row in memory.database.run("fluxmem.internal.indexes")}
        assert "memory_next_embedding" not in names
    assert FluxMem.reembed(filled, embedder=HashingEmbedder(128)).embedded == 0


def test_while_vectors_are_exchanged_words_and_links_answer_and_say_so(filled: Settings) -> None:
    former, new = HashingEmbedder(128), HashingEmbedder(384)

    class Crash(Exception):
        """Stands for a kill at the beginning of the exchange."""

    def crash(_: int, what: str) -> None:
        if what == "exchanging":
            raise Crash

    with pytest.raises(Crash):
        FluxMem.reembed(filled, embedder=new, progress=crash)
    with FluxMem.connect(filled, embedder=former) as memory:
        memory.database.run(
            "fluxmem.internal.recordEmbedder", embeddingModel=new.name, dimension=384, exchanging=True
        )
    for embedder in (former, new):
        with FluxMem.connect(filled, embedder=embedder) as memory:
            found = memory.activate("boat 7 leaves pier")
            assert found.signals["dense"] == f"off: {EXCHANGING}"
            assert found.facts[0].external_id == "7"
    with pytest.raises(Conflict, match="hashing-384 is half done"):
        FluxMem.reembed(filled, embedder=HashingEmbedder(64))
    assert FluxMem.reembed(filled, embedder=new).former is None
    with FluxMem.connect(filled) as memory:
        assert memory.activate("boat 7 leaves pier").signals["dense"] == "hashing-384"
        assert all(row["length"] == 384 and row["beside"] == 0 for row in lengths(memory))
        assert memory.doctor().ok


def test_a_cancelled_change_of_the_embedder_stops_and_goes_on_when_it_is_run_again(filled: Settings) -> None:
    class Waiting(Counting):
        begun, go = threading.Event(), threading.Event()

        def embed(self, texts: Sequence[str]) -> FloatMatrix:
            self.begun.set()
            self.go.wait(60)
            return super().embed(texts)

    waiting = Waiting(64)

    async def cancel() -> None:
        changing = asyncio.create_task(AsyncFluxMem.reembed(filled, embedder=waiting))
        await asyncio.to_thread(waiting.begun.wait)
        changing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await changing

    asyncio.run(cancel())
    workers = [thread for thread in threading.enumerate() if thread.name.startswith("fluxmem")]
    waiting.go.set()
    for worker in workers:
        worker.join(60)
    assert waiting.texts == PAGE
    with FluxMem.connect(filled) as memory:
        assert memory.activate("boat 7 leaves pier").signals["dense"] == "hashing-384"
        assert memory.doctor().ok
    assert FluxMem.reembed(filled, embedder=HashingEmbedder(64)).model == "hashing-64"


def test_what_changes_while_vectors_are_made_gets_the_vector_of_its_own_text(filled: Settings) -> None:
    with FluxMem.connect(filled, embedder=HashingEmbedder(64)) as memory:
        _, first, last = memory.match({}, top=3)

        class Overtaken(Counting):
            """A memory of the page that it embeds changes meanwhile."""

            def embed(self, texts: Sequence[str]) -> FloatMatrix:
                if texts and not self.texts:
                    memory.update(first.id, "Tea is served in the garden.")
                return super().embed(texts)

        def overtake(_: int, what: str) -> None:
            if what == "exchanging":
                memory.update(last.id, "Coffee is served in the hall.")

        FluxMem.reembed(filled, embedder=Overtaken(32), progress=overtake)
        for fact in (first, last):
            [row] = memory.database.call(
                "MATCH (m:Memory {namespace: $n, id: $id}) "
                "RETURN m.content AS content, m.embedding AS vector",
                n=memory.namespace,
                id=fact.id,
            )
            assert row["content"] != fact.content
            assert row["vector"] == pytest.approx(HashingEmbedder(32).embed([row["content"]])[0].tolist())
        assert all(row["length"] == 32 and row["beside"] == 0 for row in lengths(memory))
