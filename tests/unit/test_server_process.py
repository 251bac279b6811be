"""Finding a server, and telling why one died."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import psutil
import pytest

from fluxmem_graph.errors import ServerError
from fluxmem_graph.server import EmbeddedServer
from fluxmem_graph.server.process import collector_for, explain_death, find_process
from fluxmem_graph.server.profile import Ports, Profile, ServerState
from fluxmem_graph.settings import Settings

PORTS = Ports(17687, 17474)


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=tmp_path, profile="test")


@pytest.fixture
def profile(settings: Settings) -> Profile:
    made = Profile(settings.profile_home)
    made.create()
    return made


@pytest.fixture
def lookalike(profile: Profile) -> Iterator[subprocess.Popen[bytes]]:
    """A process that carries the mark of this profile's server on its command line."""
    waits = "import sys; print(flush=True); sys.stdin.read()"
    command = [sys.executable, "-c", waits, f"--home-dir={profile.home}"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdout
        process.stdout.readline()
        yield process
        process.kill()


def left(profile: Profile, pid: int | None) -> ServerState:
    state = ServerState(PORTS, pid, "fingerprint", "java")
    profile.write_state(state)
    return state


def dead_pid() -> int:
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


# Status


def test_a_server_that_was_never_started_is_stopped_and_has_no_address(settings: Settings) -> None:
    status = EmbeddedServer(settings).status()
    assert (status.state, status.pid, status.bolt_uri, status.uptime_s) == ("stopped", None, None, None)
    assert not settings.profile_home.exists(), "asking leaves no trace"


def test_a_live_server_is_running(
    settings: Settings, profile: Profile, lookalike: subprocess.Popen[bytes]
) -> None:
    left(profile, lookalike.pid)
    status = EmbeddedServer(settings).status()
    assert (status.state, status.pid) == ("running", lookalike.pid)
    assert status.bolt_uri == "bolt://127.0.0.1:17687"
    assert status.browser_url == "http://127.0.0.1:17474/browser/"
    assert status.uptime_s is not None
    assert 0 <= status.uptime_s < 600


def test_a_server_that_is_gone_without_a_stop_is_stale(settings: Settings, profile: Profile) -> None:
    left(profile, dead_pid())
    status = EmbeddedServer(settings).status()
    assert (status.state, status.pid, status.uptime_s) == ("stale", None, None)


def test_another_program_with_the_same_pid_is_not_the_server(settings: Settings, profile: Profile) -> None:
    left(profile, os.getpid())
    assert EmbeddedServer(settings).status().state == "stale"


def test_a_server_of_another_profile_with_the_same_pid_is_not_this_one(
    profile: Profile, lookalike: subprocess.Popen[bytes], tmp_path: Path
) -> None:
    state = left(profile, lookalike.pid)
    assert find_process(state, profile.home) is not None
    assert find_process(state, tmp_path / "other") is None


def test_a_killed_server_that_nobody_waited_for_is_not_running(
    settings: Settings, profile: Profile, lookalike: subprocess.Popen[bytes]
) -> None:
    left(profile, lookalike.pid)
    psutil.Process(lookalike.pid).kill()
    os.waitid(os.P_PID, lookalike.pid, os.WEXITED | os.WNOWAIT)
    assert psutil.Process(lookalike.pid).status() == psutil.STATUS_ZOMBIE
    assert EmbeddedServer(settings).status().state == "stale"


# Stop


def test_stopping_what_does_not_run_says_so(settings: Settings) -> None:
    assert EmbeddedServer(settings).stop() is False
    assert not settings.profile_home.exists()


def test_stopping_a_stale_server_clears_it_and_keeps_its_ports(settings: Settings, profile: Profile) -> None:
    left(profile, dead_pid())
    assert EmbeddedServer(settings).stop() is False
    assert EmbeddedServer(settings).status().state == "stopped"
    state = profile.read_state()
    assert state
    assert state.ports == PORTS


def test_stop_never_ends_another_program(settings: Settings, profile: Profile) -> None:
    left(profile, os.getpid())
    assert EmbeddedServer(settings).stop() is False


def test_stop_ends_the_server(
    settings: Settings, profile: Profile, lookalike: subprocess.Popen[bytes]
) -> None:
    left(profile, lookalike.pid)
    assert EmbeddedServer(settings).stop() is True
    assert EmbeddedServer(settings).status().state == "stopped"
    assert not psutil.pid_exists(lookalike.pid)


# Errors


class Disk(NamedTuple):
    total: int
    used: int
    free: int


def test_a_full_disk_is_told_before_anything_is_started(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.disk_usage", lambda _: Disk(10**12, 10**12, 499 * 1024**2))
    with pytest.raises(ServerError, match="only 499 MB are free") as caught:
        EmbeddedServer(settings).start()
    assert "free some space" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert EmbeddedServer(settings).status().state == "stopped"


def test_credentials_before_the_first_start_name_the_next_step(settings: Settings) -> None:
    with pytest.raises(ServerError, match="fluxmem up"):
        EmbeddedServer(settings).credentials()


@pytest.mark.parametrize(
    ("line", "step"),
    [
        ("Caused by: java.net.BindException: Address already in use", "to get other ports"),
        ("java.io.IOException: No space left on device", "free some space"),
        ("Could not reserve enough space for 102400000000KB object heap", "lower FLUXMEM_SERVER_HEAP_MB"),
        ("There is insufficient memory for the Java Runtime", "lower FLUXMEM_SERVER_HEAP_MB"),
        (
            "ERROR Invalid memory configuration - exceeds physical memory. Check the values",
            "FLUXMEM_SERVER_PAGE_CACHE_MB",
        ),
        ("java.lang.OutOfMemoryError: Java heap space", "raise FLUXMEM_SERVER_HEAP_MB"),
        ('cause "Lock file has been locked by another process: /x"', "choose another profile"),
    ],
)
def test_a_known_death_names_what_helps(line: str, step: str) -> None:
    message = str(explain_death(["INFO Starting...", line, "INFO Stopped."], Path("neo4j.log")))
    assert step in message
    assert "neo4j.log" in message
    assert "\n" not in message


def test_an_unknown_death_quotes_the_last_error() -> None:
    said = ["12:00 ERROR first", "12:01 ERROR the store is odd", "12:02 INFO Stopped."]
    message = str(explain_death(said, Path("neo4j.log")))
    assert "the store is odd" in message
    assert "see neo4j.log" in message


def test_a_silent_death_names_the_log() -> None:
    assert "see neo4j.log" in str(explain_death([], Path("neo4j.log")))


def test_a_large_heap_is_collected_without_long_pauses() -> None:
    assert [collector_for(heap_mb) for heap_mb in (256, 4096, 4097)] == ["ParallelGC", "ParallelGC", "G1GC"]
