"""A real server of its own: started, found again, killed, restarted, stopped."""

import http.client
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import neo4j
import psutil
import pytest

from fluxmem_graph import FluxMem
from fluxmem_graph.embedding import HashingEmbedder
from fluxmem_graph.errors import EmbedderMismatch, ServerError
from fluxmem_graph.server import EmbeddedServer, ServerStatus
from fluxmem_graph.server.profile import Profile
from fluxmem_graph.settings import Settings

pytestmark = [pytest.mark.slow, pytest.mark.faults]

START = """
import sys
from fluxmem_graph.server import EmbeddedServer
from fluxmem_graph.settings import Settings
print(EmbeddedServer(Settings(home=sys.argv[1], profile="lifecycle", server_heap_mb=512)).start().pid)
"""


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    home = tmp_path_factory.mktemp("lifecycle")
    return Settings(home=home, profile="lifecycle", server_heap_mb=512, server_page_cache_mb=64)


@pytest.fixture(scope="module")
def server(settings: Settings) -> Iterator[EmbeddedServer]:
    made = EmbeddedServer(settings)
    yield made
    made.stop()


def count_nodes(server: EmbeddedServer) -> int:
    status = server.status()
    assert status.bolt_uri
    with neo4j.GraphDatabase.driver(status.bolt_uri, auth=server.credentials()) as driver:
        return int(driver.execute_query("MATCH (n) RETURN count(n) AS nodes").records[0]["nodes"])


def get(status: ServerStatus, path: str) -> tuple[int, str]:
    assert status.http_uri
    connection = http.client.HTTPConnection(status.http_uri.removeprefix("http://"), timeout=30)
    connection.request("GET", path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def test_concurrent_first_starts_give_one_server_that_outlives_them(
    settings: Settings, server: EmbeddedServer
) -> None:
    command = [sys.executable, "-c", START, str(settings.home)]
    starters = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(3)]
    pids = {starter.communicate(timeout=400)[0].strip() for starter in starters}
    assert [starter.returncode for starter in starters] == [0, 0, 0]
    assert pids == {str(server.status().pid)}
    assert count_nodes(server) == 0


def test_clients_that_connect_first_at_the_same_time_make_one_schema(
    settings: Settings, server: EmbeddedServer
) -> None:
    together = threading.Barrier(4)

    def connect(_: int) -> tuple[int, ...]:
        together.wait()
        with FluxMem.connect(settings, embedder=HashingEmbedder()) as memory:
            return memory.schema.versions

    with ThreadPoolExecutor(4) as pool:
        assert len(set(pool.map(connect, range(4)))) == 1


def test_of_clients_with_two_embedders_that_connect_first_at_the_same_time_one_embedder_wins(
    tmp_path: Path,
) -> None:
    own = Settings(home=tmp_path, profile="two", server_heap_mb=512, server_page_cache_mb=64)
    server = EmbeddedServer(own)
    dimensions = [64, 128, 64, 128]
    together = threading.Barrier(len(dimensions))

    def connects(dimension: int) -> bool:
        together.wait()
        try:
            FluxMem.connect(own, embedder=HashingEmbedder(dimension)).close()
        except EmbedderMismatch:
            return False
        return True

    try:
        server.start()
        with ThreadPoolExecutor(len(dimensions)) as pool:
            connected = list(pool.map(connects, dimensions))
        assert connected in ([True, False, True, False], [False, True, False, True])
        with FluxMem.connect(own, embedder=HashingEmbedder(dimensions[connected.index(True)])) as memory:
            assert memory.search(memory.add("Boats leave at nine.").content)
    finally:
        server.stop()


def test_a_second_start_finds_the_first(server: EmbeddedServer) -> None:
    first = server.start()
    said: list[str] = []
    again = EmbeddedServer(Settings(home=first.home.parent, profile="lifecycle")).start(said.append)
    assert again.pid == first.pid
    assert said == [f"ready: {first.bolt_uri} and {first.browser_url}"]


def test_browser_is_served(server: EmbeddedServer) -> None:
    code, page = get(server.start(), "/browser/")
    assert code == 200
    assert "Neo4j Browser" in page


def test_it_listens_on_this_machine_only(server: EmbeddedServer) -> None:
    process = psutil.Process(server.start().pid)
    listening = [c.laddr for c in process.net_connections("inet") if c.status == psutil.CONN_LISTEN]
    assert len(listening) == 2
    assert {address.ip.removeprefix("::ffff:") for address in listening} == {"127.0.0.1"}


def test_another_password_is_refused(server: EmbeddedServer) -> None:
    uri = server.start().bolt_uri
    assert uri
    with (
        neo4j.GraphDatabase.driver(uri, auth=("neo4j", "neo4j")) as driver,
        pytest.raises(neo4j.exceptions.AuthError),
    ):
        driver.verify_connectivity()


def test_the_callers_keys_and_the_password_stay_out_of_the_process(
    server: EmbeddedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-a-key-of-the-caller")
    server.stop()
    process = psutil.Process(server.start().pid)
    assert "OPENAI_API_KEY" not in process.environ()
    password = server.credentials()[1]
    assert not any(password in part for part in process.cmdline())
    logs = server.status().home / "logs"
    assert not any(password in log.read_text(errors="replace") for log in logs.iterdir() if log.is_file())


def test_after_a_kill_it_is_stale_and_a_start_brings_the_same_data_back(server: EmbeddedServer) -> None:
    before = server.start()
    assert before.pid
    assert before.bolt_uri
    with neo4j.GraphDatabase.driver(before.bolt_uri, auth=server.credentials()) as driver:
        driver.execute_query("CREATE (:Survivor)")
    stored = count_nodes(server)
    assert stored
    os.kill(before.pid, signal.SIGKILL)
    psutil.wait_procs([psutil.Process(before.pid)] if psutil.pid_exists(before.pid) else [], timeout=10)
    assert server.status().state == "stale"
    after = server.start()
    assert after.state == "running"
    assert after.pid != before.pid
    assert (after.bolt_uri, after.http_uri) == (before.bolt_uri, before.http_uri)
    assert count_nodes(server) == stored


def test_other_procedures_than_the_files_say_restart_it(server: EmbeddedServer) -> None:
    before = server.start()
    profile = Profile(before.home)
    state = profile.read_state()
    assert state
    profile.write_state(replace(state, plugin="of older files"))
    said: list[str] = []
    after = server.start(said.append)
    assert after.pid != before.pid
    assert "restarting: the procedures have changed" in said


def test_a_stop_frees_its_ports_and_a_start_avoids_taken_ones(server: EmbeddedServer) -> None:
    before = server.start()
    assert server.stop() is True
    assert (server.status().state, server.status().pid) == ("stopped", None)
    assert server.stop() is False
    assert before.bolt_uri
    port = int(before.bolt_uri.rsplit(":", 1)[1])
    with socket.create_server(("127.0.0.1", port)):
        after = server.start()
        assert after.bolt_uri != before.bolt_uri
        assert after.http_uri == before.http_uri
        assert count_nodes(server) >= 0


def test_a_server_that_dies_at_its_start_says_what_helps(tmp_path: Path) -> None:
    server = EmbeddedServer(Settings(home=tmp_path, profile="greedy", server_heap_mb=10**8))
    with pytest.raises(ServerError, match="lower FLUXMEM_SERVER_HEAP_MB") as caught:
        server.start()
    assert "\n" not in str(caught.value)
    assert server.status().state == "stale"
    assert server.stop() is False
