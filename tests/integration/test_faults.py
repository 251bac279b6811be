"""Row 17 of the pitfalls: the client or the server is killed in the middle of an ingest."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from fluxmem_graph import FluxMem, NewMemory, Settings
from fluxmem_graph.errors import Unavailable
from fluxmem_graph.server import EmbeddedServer
from tests.integration.graphs import unbroken

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


def test_a_killed_client_leaves_what_a_second_run_completes(
    memory: FluxMem, server_settings: Settings
) -> None:
    password = server_settings.neo4j_password
    assert server_settings.neo4j_uri and password
    environment = {
        **os.environ,
        "NEO4J_URI": server_settings.neo4j_uri,
        "NEO4J_PASSWORD": password.get_secret_value(),
        "PYTHONPATH": str(Path(__file__).parents[2]),
    }
    command = [sys.executable, "-c", CLIENT, memory.namespace]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "now\n"
        client.send_signal(signal.SIGKILL)
    assert client.returncode == -signal.SIGKILL
    assert_complete(memory)


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
