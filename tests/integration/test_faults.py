"""Row 17 of the pitfalls: client or server is killed in an ingest, or between the steps of a long job."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.running import findings
from fluxmem_graph import FluxMem, NewMemory, Settings
from fluxmem_graph.errors import Conflict, Unavailable
from fluxmem_graph.server import EmbeddedServer
from tests.integration.conftest import Tenants
from tests.integration.graphs import snapshot, unbroken

TURNS = 2000
KILLED_AT = 1100

pytestmark = [pytest.mark.faults, pytest.mark.slow]

CLIENT = f"""
import sys, time
from fluxmem_graph import FluxMem, NewMemory, load_settings
from tests.integration.test_faults import turns

def until_killed():
    for n, turn in enumerate(turns()):
        if n == {KILLED_AT}:
            print("now", flush=True)
            time.sleep(600)
        yield turn

with FluxMem.connect(load_settings(embedder="hashing", namespace=sys.argv[1])) as memory:
    memory.ingest(until_killed())
"""


JOB = """
import sys, time
from fluxmem_graph import FluxMem, load_settings
from fluxmem_graph.graph.database import Database

namespace, statement, calls, method, *arguments = sys.argv[1:]
run, together, met = Database.run, Database.together, []

def until_killed(names):
    met.extend(name for name in names if name == statement)
    if len(met) >= int(calls):
        print("now", flush=True)
        time.sleep(600)

def run_until(self, name, /, **arguments):
    until_killed([name])
    return run(self, name, **arguments)

def together_until(self, work, /, **shared):
    until_killed({name for name, _ in work})
    return together(self, work, **shared)

Database.run, Database.together = run_until, together_until
with FluxMem.connect(load_settings(embedder="hashing", namespace=namespace)) as memory:
    getattr(memory, method)(*arguments)
"""


def turns() -> Iterator[NewMemory]:
    """Turns of one session, each after the one before."""
    for n in range(TURNS):
        yield NewMemory(f"turn {n}", str(n), "chat", "Ada", session="1")


def assert_complete(memory: FluxMem) -> None:
    report = memory.ingest(turns())
    assert report.created + report.unchanged == TURNS
    assert report.failures == []
    assert 0 < report.unchanged < TURNS
    stats = memory.stats()
    assert stats["memory"] == {"semantic active": TURNS}
    assert stats["node"]["operation"] == TURNS
    assert stats["link"]["NEXT"] == TURNS - 1
    assert unbroken(memory)
    stored = memory.database.call(
        "MATCH (m:Memory {namespace: $namespace}) WHERE m.embedding IS NOT NULL "
        "RETURN count(DISTINCT m.external_id) AS turns",
        namespace=memory.namespace,
    )
    assert stored[0]["turns"] == TURNS
    assert memory.search("turn 1999", top_k=1)[0].external_id == "1999"


def run_until_killed(settings: Settings, program: str, *arguments: str) -> None:
    """Run a program beside this one, and kill it when it says so."""
    assert settings.neo4j_uri and settings.neo4j_password
    environment = {
        **os.environ,
        "NEO4J_URI": settings.neo4j_uri,
        "NEO4J_PASSWORD": settings.neo4j_password.get_secret_value(),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-c", program, *arguments]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        said = client.stdout.readline()
        client.kill()
    assert (said, client.returncode) == ("now\n", -signal.SIGKILL)


def test_a_killed_client_leaves_what_a_second_run_completes(
    memory: FluxMem, server_settings: Settings
) -> None:
    run_until_killed(server_settings, CLIENT, memory.namespace)
    assert_complete(memory)


def test_a_killed_import_is_completed_by_the_same_command(
    memory: FluxMem, tenant: Tenants, server_settings: Settings, tmp_path: Path
) -> None:
    memory.ingest(turns())
    file, again, copy = tmp_path / "all.jsonl", tmp_path / "copy.jsonl", tenant()
    memory.export(file)
    kill = ("fluxmem.internal.importLinks", "2", "import_file", str(file))
    run_until_killed(server_settings, JOB, copy.namespace, *kill)
    assert copy.stats()["memory"] == {"semantic active": TURNS}
    assert copy.stats()["link"].get("NEXT", 0) < TURNS - 1
    copy.import_file(file)
    copy.export(again)
    assert again.read_bytes() == file.read_bytes()


def test_a_killed_replay_leaves_a_target_to_erase_and_the_source_whole(
    memory: FluxMem, tenant: Tenants, server_settings: Settings
) -> None:
    memory.ingest(turns())
    memory.undo_range(TURNS - 250, TURNS)
    target, before = tenant(), snapshot(memory)
    kill = ("fluxmem.undo", "3", "replay", target.namespace)
    run_until_killed(server_settings, JOB, memory.namespace, *kill)
    assert snapshot(memory) == before
    assert target.stats()["memory"]["semantic active"] > TURNS - 250
    with pytest.raises(Conflict, match="is there already"):
        memory.replay(target.namespace)
    target.erase_namespace()
    assert memory.replay(target.namespace).difference is None


def test_a_killed_erasure_of_a_source_is_finished_by_the_next(
    memory: FluxMem, server_settings: Settings
) -> None:
    memory.ingest(turns())
    kill = ("fluxmem.internal.eraseMemories", "2", "erase_source", "chat")
    run_until_killed(server_settings, JOB, memory.namespace, *kill)
    assert 0 < memory.stats()["memory"]["semantic active"] < TURNS
    memory.erase_source("chat")
    assert memory.stats()["memory"] == {}
    assert findings(memory) == []


def test_a_killed_undo_of_a_run_and_a_killed_erasure_of_all_are_finished_by_the_next(
    memory: FluxMem, server_settings: Settings
) -> None:
    report = memory.ingest(turns())
    kill = ("fluxmem.undo", "3", "undo_run", report.run_id)
    run_until_killed(server_settings, JOB, memory.namespace, *kill)
    assert 0 < memory.stats()["memory"]["semantic active"] < TURNS
    memory.undo_run(report.run_id)
    assert memory.stats()["memory"] == {"semantic deleted": TURNS}
    assert unbroken(memory)
    kill_erasure = ("fluxmem.internal.eraseBatch", "2", "erase_namespace")
    run_until_killed(server_settings, JOB, memory.namespace, *kill_erasure)
    assert 0 < sum(memory.stats()["node"].values()) < 2 * TURNS
    memory.erase_namespace()
    assert sum(memory.stats()["node"].values()) == 0


def test_a_killed_server_loses_nothing_that_a_second_run_does_not_restore(tmp_path: Path) -> None:
    settings = Settings(
        home=tmp_path, profile="killed", embedder="hashing", server_heap_mb=512, timeout_s=20, namespace="n"
    )
    server = EmbeddedServer(settings)

    def killing() -> Iterator[NewMemory]:
        for n, turn in enumerate(turns()):
            if n == KILLED_AT:
                pid = server.status().pid
                assert pid is not None
                os.kill(pid, signal.SIGKILL)
            yield turn

    try:
        with FluxMem.connect(settings) as memory, pytest.raises(Unavailable, match="fluxmem up"):
            memory.ingest(killing())
        with FluxMem.connect(settings) as memory:
            assert_complete(memory)
    finally:
        server.stop()
