"""Backups of an embedded server: its data and password in one archive, taken while it is shortly stopped.

Community Edition can't copy a running database. So the server is stopped, its data copied, and the server
started again, before the copy is packed.
"""

import json
import os
import shutil
import tarfile
import tempfile
import time
import zlib
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from fluxmem_graph.errors import ConfigurationError, ServerError
from fluxmem_graph.server.artifacts import NEO4J_VERSION, require_disk_space
from fluxmem_graph.server.process import EmbeddedServer
from fluxmem_graph.server.profile import DATA, PASSWORD

Progress = Callable[[str], None]

FORMAT: Final = 1
_MANIFEST: Final = "fluxmem-backup.json"


@dataclass(frozen=True, slots=True)
class Backup:
    """A finished backup or restore: the archive, its size in bytes, and for how long the server was down."""

    file: Path
    bytes: int
    created: str
    neo4j: str
    stopped_s: float


def back_up(server: EmbeddedServer, file: Path, progress: Progress) -> Backup:
    """Write an archive of the server's data, replacing a file only when the archive is whole.

    Raises ConfigurationError for a wrong path, or ServerError when there is no data or not enough disk space.
    """
    file = file.expanduser().absolute()
    source = server.profile
    if not file.parent.is_dir():
        raise ConfigurationError(f"there is no folder {file.parent}")
    if file.is_dir():
        raise ConfigurationError(f"{file} is a folder; name a file in it")
    if not (source.home / DATA / "databases").is_dir():
        raise ServerError(f"there is no data in {source.home}; start the server first with `fluxmem up`")
    # The copy and the archive, which may be no smaller.
    require_disk_space(file.parent, 2 * _size(source.home / DATA))
    manifest = {"format": FORMAT, "neo4j": NEO4J_VERSION, "created": datetime.now(UTC).isoformat()}
    try:
        with tempfile.TemporaryDirectory(prefix=".fluxmem-backup-", dir=file.parent) as folder:
            copy, part = Path(folder, "copy"), Path(folder, "archive")
            copy.mkdir()
            stopped = time.monotonic()
            with server.stopped(progress):
                progress("copying the data")
                shutil.copytree(source.home / DATA, copy / DATA)
                shutil.copy2(source.password_file, copy / PASSWORD)
            stopped_s = time.monotonic() - stopped
            progress("packing the copy")
            (copy / _MANIFEST).write_text(json.dumps(manifest), encoding="utf-8")
            _pack(copy, part)
            part.replace(file)
    except OSError as error:
        raise ServerError(f"can't write {file}: {error}; nothing was replaced") from error
    return Backup(file, file.stat().st_size, manifest["created"], NEO4J_VERSION, stopped_s)  # type: ignore[arg-type]


def restore(server: EmbeddedServer, file: Path, *, replace: bool, progress: Progress) -> Backup:
    """Put the data of an archive in the place of the server's, and start it.

    The former data is kept until the server answers with the new one, and put back when it does not. Raises
    ConfigurationError for a file that is no backup, or for data that is there without `replace`; ServerError.
    """
    file = file.expanduser().absolute()
    profile = server.profile
    manifest, size = _read(file)
    if (profile.home / DATA / "databases").exists() and not replace:
        raise ConfigurationError(
            f"{profile.home} holds data; say --yes to replace it, or choose another profile"
        )
    profile.create()
    require_disk_space(profile.home, size)
    try:
        with tempfile.TemporaryDirectory(prefix=".restoring-", dir=profile.home) as folder:
            progress("unpacking the archive")
            with tarfile.open(file) as archive:
                archive.extractall(folder, filter="data")
            stopped = time.monotonic()
            ran = server.stop()
            progress("exchanging the data")
            _exchange(server, Path(folder), ran, progress)
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise ServerError(f"can't restore {file}: {error}; the former data is kept") from error
    stopped_s = time.monotonic() - stopped
    return Backup(file, file.stat().st_size, manifest["created"], manifest["neo4j"], stopped_s)


def _exchange(server: EmbeddedServer, unpacked: Path, ran: bool, progress: Progress) -> None:
    """Start the server with unpacked data, or put the former data back. Raises ServerError."""
    profile = server.profile
    try:
        with server.stopped(progress):
            profile.set_aside()
            (unpacked / DATA).replace(profile.home / DATA)
            (unpacked / PASSWORD).replace(profile.password_file)
        server.start(progress, trying=True)
    except ServerError as error:
        server.stop()
        profile.put_back()
        if ran:
            server.start(progress)
        raise ServerError(f"the archive can't be used: {error}; the former data is back") from error
    profile.forget_former()


def _pack(folder: Path, target: Path) -> None:
    # Whoever reads the archive has the password and all memories.
    with os.fdopen(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as raw:
        with tarfile.open(fileobj=raw, mode="w:gz", compresslevel=3) as archive:
            # The manifest first, so that it is read without unpacking all.
            for name in (_MANIFEST, PASSWORD, DATA):
                archive.add(folder / name, arcname=name)
        raw.flush()
        os.fsync(raw.fileno())


def _read(file: Path) -> tuple[dict[str, Any], int]:
    """Return the manifest and the unpacked size in bytes. Raises ConfigurationError."""
    try:
        with tarfile.open(file) as archive:
            member = archive.next()
            text = archive.extractfile(member) if member and member.name == _MANIFEST else None
            manifest = json.load(text) if text else {}
            size = sum(one.size for one in archive)
    except (OSError, EOFError, tarfile.TarError, zlib.error, ValueError) as error:
        raise ConfigurationError(f"{file} can't be read as a backup: {error}") from error
    if manifest.get("format") != FORMAT:
        raise ConfigurationError(f"{file} is no backup that this version of fluxmem can read")
    if _number(manifest["neo4j"]) > _number(NEO4J_VERSION):
        raise ConfigurationError(f"{file} comes from Neo4j {manifest['neo4j']}; this is {NEO4J_VERSION}")
    return manifest, size


def _number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split(".") if part.isdigit())


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
