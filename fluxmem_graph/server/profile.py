"""The files of one embedded server: configuration, password, ports and state."""

import hashlib
import json
import os
import secrets
import shutil
import socket
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final

from fluxmem_graph.errors import ServerError
from fluxmem_graph.settings import Settings

HOST: Final = "127.0.0.1"
USER: Final = "neo4j"
BOLT_PORT: Final = 7687
HTTP_PORT: Final = 7474
DATA: Final = "data"
PASSWORD: Final = "password"

_PORTS_TRIED: Final = 100
_HASH_ROUNDS: Final = 1024
# Plans are kept: statements find their nodes by an index whatever the counts are, and while these change the
# server would make plans every ten seconds, which took a fifth of an ingest's time. The vector index merges
# in tiers: by default up to 49 small parts stay, and a query among 100,000 memories goes through each.
_CONFIGURATION: Final = """\
# Written anew at each start: change the settings, not this file.
server.default_listen_address={host}
server.bolt.enabled=true
server.bolt.listen_address={host}:{bolt_port}
server.bolt.advertised_address={host}:{bolt_port}
server.http.enabled=true
server.http.listen_address={host}:{http_port}
server.http.advertised_address={host}:{http_port}
server.http.x_forward.enabled=false
server.https.enabled=false
server.memory.pagecache.size={page_cache_mb}m
server.config.strict_validation.enabled=true
dbms.usage_report.enabled=false
dbms.fleet_manager.enabled=false
server.fleet_discovery.enabled=false
client.allow_telemetry=false
db.logs.query.enabled=OFF
internal.dbms.bolt.netty_server_shutdown_quiet_period_duration=0s
internal.server.bolt.thread_pool_shutdown_wait_time=1s
dbms.cypher.min_replan_interval=10m
internal.dbms.index.vector.merge_policy=TIERED
db.tx_log.preallocate=false
db.tx_log.rotation.size=64m
db.tx_log.rotation.retention_policy=256M size
"""


@dataclass(frozen=True)
class Ports:
    """The two ports that a server listens on."""

    bolt: int
    http: int


@dataclass(frozen=True)
class ServerState:
    """What a start leaves for later calls; `pid` is None after a stop, when only the ports still matter."""

    ports: Ports
    pid: int | None
    plugin: str
    java: str


@dataclass(frozen=True)
class Profile:
    """The folder of one embedded server and what lies in it."""

    home: Path

    @property
    def conf(self) -> Path:
        """Folder of the configuration."""
        return self.home / "conf"

    @property
    def plugins(self) -> Path:
        """Folder of the procedure plugin."""
        return self.home / "plugins"

    @property
    def console_log(self) -> Path:
        """What the Java process itself prints."""
        return self.home / "logs" / "console.log"

    @property
    def neo4j_log(self) -> Path:
        """What the server reports to its user."""
        return self.home / "logs" / "neo4j.log"

    @property
    def lock_file(self) -> Path:
        """Held while a server of this profile is started or stopped."""
        return self.home / "server.lock"

    @property
    def password_file(self) -> Path:
        """Readable by its owner only."""
        return self.home / PASSWORD

    @property
    def _state_file(self) -> Path:
        return self.home / "server.json"

    def create(self) -> None:
        """Create the folders, readable by their owner only. Raises ServerError."""
        try:
            self.home.mkdir(parents=True, exist_ok=True, mode=0o700)
            for folder in (self.conf, self.plugins, self.console_log.parent, self.home / DATA):
                folder.mkdir(exist_ok=True)
        except OSError as error:
            raise ServerError(
                f"can't create {self.home}: {error}; set FLUXMEM_HOME to another folder"
            ) from error

    def set_aside(self) -> None:
        """Move data and password away until `forget_former`; until then `put_back` brings them back."""
        # The password first: data without its password would be taken for lost.
        for name in (PASSWORD, DATA):
            if (self.home / name).exists():
                (self.home / name).replace(self._former(name))

    def put_back(self) -> None:
        """Undo `set_aside`, also one that a crash has left half done."""
        for name in (DATA, PASSWORD):
            former, now = self._former(name), self.home / name
            if former.exists():
                if now.is_dir():
                    shutil.rmtree(now)
                former.replace(now)

    def forget_former(self) -> None:
        """Delete what was set aside."""
        # Away from its name first: half of it must not be put back.
        for name in (DATA, PASSWORD):
            if self._former(name).exists():
                self._former(name).replace(self.home / f"{name}.forgotten")
        shutil.rmtree(self.home / f"{DATA}.forgotten", ignore_errors=True)
        (self.home / f"{PASSWORD}.forgotten").unlink(missing_ok=True)

    def _former(self, name: str) -> Path:
        return self.home / f"{name}.before-restore"

    def write_configuration(self, settings: Settings, ports: Ports) -> None:
        """Write `conf/neo4j.conf`."""
        text = render_configuration(settings, ports)
        (self.conf / "neo4j.conf").write_text(text, encoding="utf-8")

    def read_state(self) -> ServerState | None:
        """Return what the last start left; None when there is nothing or it can't be read."""
        try:
            raw = json.loads(self._state_file.read_text(encoding="utf-8"))
            return ServerState(**{**raw, "ports": Ports(**raw["ports"])})
        except (OSError, ValueError, TypeError, KeyError):
            return None

    def write_state(self, state: ServerState) -> None:
        """Replace the state in one step, so that no reader sees half of it."""
        _write_private(self._state_file, json.dumps(asdict(state)))

    def read_password(self) -> str:
        """Return the password of the user `neo4j`. Raises ServerError before the first start."""
        try:
            return self.password_file.read_text(encoding="utf-8").strip()
        except OSError as error:
            raise ServerError(
                f"no password in {self.password_file}: start the server first with `fluxmem up`"
            ) from error

    def ensure_password(self) -> None:
        """Make a random password before the first start. Raises ServerError when that is too late."""
        auth_file = self.home / "data" / "dbms" / "auth.ini"
        begun = (self.home / "data" / "databases" / "system").exists()
        if not self.password_file.exists():
            if begun:
                raise ServerError(
                    f"{self.password_file} is gone, and the data can't be opened without it: "
                    f"put the password back, or move {self.home} away to begin anew"
                )
            _write_private(self.password_file, secrets.token_urlsafe(24))
        if not begun:
            auth_file.parent.mkdir(parents=True, exist_ok=True)
            _write_private(auth_file, initial_password(self.read_password()))


def render_configuration(settings: Settings, ports: Ports) -> str:
    """Return the text of `neo4j.conf`."""
    return _CONFIGURATION.format(
        host=HOST, bolt_port=ports.bolt, http_port=ports.http, page_cache_mb=settings.server_page_cache_mb
    )


def initial_password(password: str) -> str:
    """Return the line that the server reads its first user from: a salted hash, never the password."""
    salt = secrets.token_bytes(32)
    digest = salt + password.encode()
    for _ in range(_HASH_ROUNDS):
        digest = hashlib.sha256(digest).digest()
    return f"{USER}:SHA-256,{digest.hex()},{salt.hex()},{_HASH_ROUNDS}:\n"


def choose_ports(last: Ports | None) -> Ports:
    """Return free ports: those of the last start, else the defaults, else the next ones after them."""
    bolt = _first_free([*([last.bolt] if last else []), *range(BOLT_PORT, BOLT_PORT + _PORTS_TRIED)])
    http = _first_free([*([last.http] if last else []), *range(HTTP_PORT, HTTP_PORT + _PORTS_TRIED)])
    return Ports(bolt, http)


def is_free(port: int) -> bool:
    """Tell whether a server could listen on a port now."""
    with socket.socket() as probe:
        # As the server does it: connections of an earlier one that are still closing don't count.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, port))
        except OSError:
            return False
        return True


def _first_free(ports: Iterable[int]) -> int:
    for port in ports:
        if is_free(port):
            return port
    with socket.socket() as any_port:
        any_port.bind((HOST, 0))
        return int(any_port.getsockname()[1])


def _write_private(path: Path, text: str) -> None:
    part = path.with_name(f"{path.name}.{os.getpid()}.part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="utf-8") as file:
        file.write(text)
    part.replace(path)
