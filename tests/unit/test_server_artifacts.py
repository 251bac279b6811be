"""Fetching the pinned jars, from a Maven repository on a local port."""

import hashlib
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from jgo.maven import _core

from fluxmem_graph.errors import ServerError
from fluxmem_graph.server.artifacts import (
    COMPILER_COORDINATES,
    COMPILER_LOCK,
    SERVER_COORDINATES,
    SERVER_LOCK,
    LockedJar,
    fetch,
    read_lock,
)


class Repository:
    """A Maven repository, and what was asked of it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.asked: list[str] = []

    def publish(self, name: str, content: bytes, classifier: str | None = None) -> LockedJar:
        jar = LockedJar("org.example", name, "1.0", classifier, hashlib.sha256(content).hexdigest())
        path = self.folder / jar.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return jar


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    made = Repository(tmp_path / "repository")
    made.folder.mkdir()

    class Handler(SimpleHTTPRequestHandler):
        def log_message(self, format: str, *args: Any) -> None:
            made.asked.append(self.path)

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(made.folder)))
    threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True).start()
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setitem(_core.DEFAULT_REMOTE_REPOS, "central", f"http://127.0.0.1:{server.server_port}")
    yield made
    server.shutdown()
    server.server_close()


# The lock files


@pytest.mark.parametrize(
    ("lock", "coordinates"), [(SERVER_LOCK, SERVER_COORDINATES), (COMPILER_LOCK, COMPILER_COORDINATES)]
)
def test_the_lock_holds_every_pinned_version(lock: Path, coordinates: tuple[str, ...]) -> None:
    locked = {f"{jar.group}:{jar.artifact}:{jar.version}" for jar in read_lock(lock)}
    assert set(coordinates) <= locked


@pytest.mark.parametrize("lock", [SERVER_LOCK, COMPILER_LOCK])
def test_every_jar_is_locked_once_and_by_its_hash(lock: Path) -> None:
    jars = read_lock(lock)
    assert len({jar.path for jar in jars}) == len(jars)
    assert {len(jar.sha256) for jar in jars} == {64}


# Fetching


def test_missing_jars_are_fetched_whole(repository: Repository, tmp_path: Path) -> None:
    jars = [repository.publish("one", b"1" * 100_000), repository.publish("two", b"2", "linux-x86_64")]
    said: list[str] = []
    paths = fetch(jars, tmp_path / "cache", said.append)
    assert [path.read_bytes() for path in paths] == [b"1" * 100_000, b"2"]
    assert [path.name for path in paths] == ["one-1.0.jar", "two-1.0-linux-x86_64.jar"]
    assert said[-1] == "fetched 2 of 2 files"


def test_a_second_fetch_asks_nobody(repository: Repository, tmp_path: Path) -> None:
    jars = [repository.publish("one", b"1")]
    fetch(jars, tmp_path / "cache")
    repository.asked.clear()
    said: list[str] = []
    fetch(jars, tmp_path / "cache", said.append)
    assert (repository.asked, said) == ([], [])


def test_only_what_is_missing_is_fetched(repository: Repository, tmp_path: Path) -> None:
    one, two = repository.publish("one", b"1"), repository.publish("two", b"2")
    fetch([one], tmp_path / "cache")
    repository.asked.clear()
    fetch([one, two], tmp_path / "cache")
    assert repository.asked
    assert all("/two/" in path for path in repository.asked)


def test_other_bytes_than_the_locked_ones_never_reach_the_cache(
    repository: Repository, tmp_path: Path
) -> None:
    jar = repository.publish("one", b"1")
    (repository.folder / jar.path).write_bytes(b"something else")
    with pytest.raises(ServerError, match="not those of the lock file"):
        fetch([jar], tmp_path / "cache")
    assert not list((tmp_path / "cache").rglob("*.jar"))


def test_after_a_failure_the_rest_is_fetched(repository: Repository, tmp_path: Path) -> None:
    jars = [repository.publish(f"jar{n}", b"%d" % n) for n in range(30)]
    absent = repository.folder / jars[17].path
    content = absent.read_bytes()
    absent.unlink()
    with pytest.raises(ServerError, match=r"org\.example:jar17:jar:1\.0") as caught:
        fetch(jars, tmp_path / "cache")
    assert "check the network" in str(caught.value)
    absent.write_bytes(content)
    assert all(path.is_file() for path in fetch(jars, tmp_path / "cache"))


def test_without_a_network_the_error_is_one_line_with_the_next_step(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(_core.DEFAULT_REMOTE_REPOS, "central", "http://127.0.0.1:9")
    jar = LockedJar("org.example", "one", "1.0", None, "0" * 64)
    with pytest.raises(ServerError, match="check the network") as caught:
        fetch([jar], tmp_path / "cache")
    assert "\n" not in str(caught.value)


def test_a_cache_that_cannot_be_written_is_an_error_with_the_next_step(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    jar = LockedJar("org.example", "one", "1.0", None, "0" * 64)
    with pytest.raises(ServerError, match="check the network and the disk"):
        fetch([jar], tmp_path / "file" / "cache")
