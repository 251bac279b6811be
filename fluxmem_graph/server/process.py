"""Starts, finds and stops the embedded server's process."""

import http.client
import os
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import psutil
from filelock import FileLock, Timeout

from fluxmem_graph.errors import ServerError
from fluxmem_graph.server.artifacts import NEO4J_VERSION, require_disk_space, server_jars
from fluxmem_graph.server.java import Java, find_java
from fluxmem_graph.server.plugin import JAR_NAME, build_plugin, plugin_fingerprint
from fluxmem_graph.server.profile import HOST, USER, Ports, Profile, ServerState, choose_ports
from fluxmem_graph.settings import Settings

Progress = Callable[[str], None]

_MAIN_CLASS: Final = "org.neo4j.server.Neo4jCommunity"
_READY_TIMEOUT_S: Final = 120.0
_STOP_TIMEOUT_S: Final = 30.0
_KILL_TIMEOUT_S: Final = 10.0
_POLL_S: Final = 0.2
_PORT_RACES: Final = 3
_LARGE_HEAP_MB: Final = 4096
_JVM_FLAGS: Final = (
    "-XX:-OmitStackTraceInFastThrow",
    "-XX:+ExitOnOutOfMemoryError",
    "-XX:+DisableExplicitGC",
    "-Djdk.nio.maxCachedBufferSize=1024",
    "-Dio.netty.tryReflectionSetAccessible=true",
    "-Dlog4j2.disable.jmx=true",
    "-Djava.awt.headless=true",
    "-Dfile.encoding=UTF-8",
    "--add-opens=java.base/java.nio=ALL-UNNAMED",
    "--add-opens=java.base/java.io=ALL-UNNAMED",
    "--add-opens=java.base/sun.nio.ch=ALL-UNNAMED",
    "--enable-native-access=ALL-UNNAMED",
)
_PORT_SIGN: Final = "Address already in use"
# What a dying server says, what that means, and what helps; the first that fits wins.
_REMEDIES: Final = (
    (_PORT_SIGN, "another program took its port", "run it again to get other ports"),
    ("No space left on device", "the disk is full", "free some space and run it again"),
    ("Could not reserve enough space", "there is not enough memory", "lower FLUXMEM_SERVER_HEAP_MB"),
    ("insufficient memory", "there is not enough memory", "lower FLUXMEM_SERVER_HEAP_MB"),
    (
        "exceeds physical memory",
        "there is not enough memory",
        "lower FLUXMEM_SERVER_HEAP_MB and FLUXMEM_SERVER_PAGE_CACHE_MB",
    ),
    ("OutOfMemoryError", "its heap is too small", "raise FLUXMEM_SERVER_HEAP_MB"),
    (
        "Lock file has been locked",
        "another server uses its folder",
        "stop that one, or choose another profile",
    ),
)


@dataclass(frozen=True)
class ServerStatus:
    """What is known of an embedded server.

    `stale`: it was started and is gone without having been stopped. `uptime_s` is in seconds; addresses
    are None before the first start.
    """

    state: Literal["running", "stopped", "stale"]
    home: Path
    version: str
    pid: int | None = None
    bolt_uri: str | None = None
    http_uri: str | None = None
    browser_url: str | None = None
    java: str | None = None
    uptime_s: float | None = None


def collector_for(heap_mb: int) -> str:
    """Return the garbage collector that suits a heap.

    In a small one pauses are short anyway, and code for G1 takes more of the processor to compile and to run
    (`benchmarks/collectors.py`); in a large one a full collection would stop everything for seconds.
    """
    return "ParallelGC" if heap_mb <= _LARGE_HEAP_MB else "G1GC"


class EmbeddedServer:
    """The Neo4j of one profile, which outlives the process that started it.

    `collector` is the Java garbage collector that it starts with, if not the one for the size of its heap.
    """

    def __init__(self, settings: Settings, *, collector: str | None = None) -> None:
        self._settings = settings
        self._collector = collector or collector_for(settings.server_heap_mb)
        self._profile = Profile(settings.profile_home.expanduser().absolute())

    @property
    def profile(self) -> Profile:
        """The server's files."""
        return self._profile

    def start(self, progress: Progress | None = None, *, trying: bool = False) -> ServerStatus:
        """Start the server unless it runs, and wait until it answers.

        A running one whose procedures are older than the statement files is restarted. Data that a restore
        set aside and never forgot is put back first, unless `trying` the restored data. Raises ServerError
        and JavaNotFound.
        """
        tell = progress or (lambda _: None)
        self._profile.create()
        with self._lock(tell):
            running = self._running()
            if running is None and not trying:
                self._profile.put_back()
            if running is None:
                require_disk_space(self._profile.home)
            java = find_java(self._settings)
            jars = server_jars(tell)
            plugin = self._build_plugin(java, tell)
            if running is not None and running[0].plugin != plugin:
                tell("restarting: the procedures have changed")
                self._stop(running[1])
                running = None
            if running is None:
                self._launch(java, jars, plugin, tell)
            else:
                self._await_ready(running[1], running[0].ports, self._log_sizes())
        status = self.status()
        tell(f"ready: {status.bolt_uri} and {status.browser_url}")
        return status

    def stop(self) -> bool:
        """Stop the server; False when it did not run. Raises ServerError when it survives that."""
        if not self._profile.home.is_dir():
            return False
        with self._lock(lambda _: None):
            running = self._running()
            if running is not None:
                self._stop(running[1])
            elif state := self._profile.read_state():
                self._profile.write_state(ServerState(state.ports, None, state.plugin, state.java))
            return running is not None

    @contextmanager
    def stopped(self, progress: Progress) -> Iterator[None]:
        """Keep the server down, and start it again at the end if it ran. Raises ServerError."""
        ran = False
        try:
            with self._lock(progress):
                running = self._running()
                if running is not None:
                    progress("stopping the server")
                    ran = True
                    self._stop(running[1])
                yield
        finally:
            if ran:
                self.start(progress)

    def status(self) -> ServerStatus:
        """Return what is known of the server without touching it."""
        state = self._profile.read_state()
        if state is None:
            return ServerStatus("stopped", self._profile.home, NEO4J_VERSION)
        process = find_process(state, self._profile.home)
        http_uri = f"http://{HOST}:{state.ports.http}"
        return ServerStatus(
            state="running" if process else "stale" if state.pid else "stopped",
            home=self._profile.home,
            version=NEO4J_VERSION,
            pid=process.pid if process else None,
            bolt_uri=f"bolt://{HOST}:{state.ports.bolt}",
            http_uri=http_uri,
            browser_url=f"{http_uri}/browser/",
            java=state.java,
            uptime_s=time.time() - process.create_time() if process else None,
        )

    def credentials(self) -> tuple[str, str]:
        """Return user and password. Raises ServerError before the first start."""
        return USER, self._profile.read_password()

    @contextmanager
    def _lock(self, tell: Progress) -> Iterator[None]:
        lock = FileLock(self._profile.lock_file)
        try:
            try:
                lock.acquire(timeout=1)
            except Timeout:
                tell("waiting for another start or stop of this profile")
                lock.acquire()
            try:
                yield
            finally:
                lock.release()
        except OSError as error:
            raise ServerError(
                f"can't use {self._profile.home}: {error}; check its disk and who may write there"
            ) from error

    def _build_plugin(self, java: Java, tell: Progress) -> str:
        if plugin_fingerprint(self._profile.plugins / JAR_NAME) is None:
            tell("compiling the procedures")
        jar = build_plugin(self._profile.plugins, java.path)
        return plugin_fingerprint(jar) or ""

    def _running(self) -> tuple[ServerState, psutil.Process] | None:
        state = self._profile.read_state()
        process = find_process(state, self._profile.home) if state else None
        return (state, process) if state and process else None

    def _launch(self, java: Java, jars: list[Path], plugin: str, tell: Progress) -> None:
        self._profile.ensure_password()
        last = self._profile.read_state()
        for races_left in reversed(range(_PORT_RACES)):
            ports = choose_ports(last.ports if last else None)
            tell(f"starting Neo4j {NEO4J_VERSION} on {HOST}:{ports.bolt} with Java {java.version}")
            self._profile.write_configuration(self._settings, ports)
            marks = self._log_sizes()
            process = self._spawn(java, jars)
            self._profile.write_state(ServerState(ports, process.pid, plugin, str(java.path)))
            try:
                self._await_ready(process, ports, marks)
                break
            except _PortTaken:
                # Another program took the port between the choice and the start.
                if not races_left:
                    raise

    def _spawn(self, java: Java, jars: list[Path]) -> psutil.Process:
        home = self._profile.home
        command = [
            str(java.path),
            f"-Xmx{self._settings.server_heap_mb}m",
            f"-XX:+Use{self._collector}",
            *_JVM_FLAGS,
        ]
        if java.has_vector_module:
            command.append("--add-modules=jdk.incubator.vector")
        command += ["-cp", os.pathsep.join(map(str, jars)), _MAIN_CLASS]
        command += [f"--home-dir={home}", f"--config-dir={self._profile.conf}"]
        try:
            with self._profile.console_log.open("ab") as log:
                return psutil.Popen(
                    command,
                    cwd=home,
                    # Nothing of the caller's environment, which may hold keys, gets into a lasting process.
                    env={"LC_ALL": "C.UTF-8"},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                )
        except OSError as error:
            raise ServerError(
                f"can't run {java.path}: {error}; set JAVA_HOME to a Java 21 or newer"
            ) from error

    def _log_sizes(self) -> dict[Path, int]:
        logs = (self._profile.neo4j_log, self._profile.console_log)
        return {path: path.stat().st_size if path.exists() else 0 for path in logs}

    def _await_ready(self, process: psutil.Process, ports: Ports, marks: dict[Path, int]) -> None:
        """Wait; `marks` are the sizes of the logs before the start, so that only its own lines are told."""
        deadline = time.monotonic() + _READY_TIMEOUT_S
        while time.monotonic() < deadline:
            if not is_alive(process):
                raise self._death(marks)
            if _listens(process, ports) and _answers(ports.http):
                return
            time.sleep(_POLL_S)
        raise ServerError(
            f"the server (pid {process.pid}) is not ready after {_READY_TIMEOUT_S:.0f} s; "
            f"it keeps trying: see {self._profile.neo4j_log}, or stop it with `fluxmem down`"
        )

    def _death(self, marks: dict[Path, int]) -> ServerError:
        said = [line for path, size in marks.items() for line in _lines_after(path, size)]
        return explain_death(said, self._profile.neo4j_log)

    def _stop(self, process: psutil.Process) -> None:
        state = self._profile.read_state()
        try:
            process.terminate()
            try:
                process.wait(_STOP_TIMEOUT_S)
            except psutil.TimeoutExpired:
                process.kill()
                process.wait(_KILL_TIMEOUT_S)
        except psutil.NoSuchProcess:
            pass
        except (psutil.TimeoutExpired, psutil.AccessDenied) as error:
            raise ServerError(
                f"can't stop the server: {error}; end process {process.pid} by other means"
            ) from error
        if state:
            self._profile.write_state(ServerState(state.ports, None, state.plugin, state.java))


class _PortTaken(ServerError):
    """Another program listens on the chosen port."""


def explain_death(said: Sequence[str], log: Path) -> ServerError:
    """Return the error, in one line, that fits what a server said before it died."""
    for sign, what, remedy in _REMEDIES:
        if any(sign in line for line in said):
            kind = _PortTaken if sign == _PORT_SIGN else ServerError
            return kind(f"the server died at its start: {what}; {remedy} (log: {log})")
    last = next(
        (line for line in reversed(said) if " ERROR " in line), said[-1] if said else "it said nothing"
    )
    return ServerError(f"the server died at its start: {last[:300]}; see {log}")


def find_process(state: ServerState, home: Path) -> psutil.Process | None:
    """Return the live server that a state speaks of.

    The command line tells it from another program that got the same pid; times of creation can't be
    trusted for that, because they move with the machine's clock.
    """
    if state.pid is None:
        return None
    try:
        process = psutil.Process(state.pid)
        ours = f"--home-dir={home}" in process.cmdline()
    except psutil.Error:
        return None
    return process if ours and is_alive(process) else None


def is_alive(process: psutil.Process) -> bool:
    """Tell whether a process runs; one that ended but was not waited for does not."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _listens(process: psutil.Process, ports: Ports) -> bool:
    """An answer is not enough: another profile's server may have taken the port."""
    try:
        found = process.net_connections(kind="tcp")
    except psutil.Error:
        return False
    listening = {c.laddr.port for c in found if c.status == psutil.CONN_LISTEN}
    return {ports.bolt, ports.http} <= listening


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection(HOST, port, timeout=5)
    try:
        connection.request("GET", "/", headers={"Accept": "application/json"})
        return connection.getresponse().status == http.client.OK
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _lines_after(path: Path, size: int) -> list[str]:
    try:
        with path.open("rb") as log:
            # A log that shrank was rotated: then all of it is new.
            log.seek(size if path.stat().st_size >= size else 0)
            text = log.read().decode("utf-8", errors="replace")
    except OSError:
        return []
    return [line.strip() for line in text.splitlines() if line.strip()]
