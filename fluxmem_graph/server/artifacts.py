"""Fetches the pinned jars of Neo4j and of the Eclipse compiler into the user's cache, through jgo.

The lock files say what to fetch, so nothing is resolved at run time and a second run needs no network.
"""

import hashlib
import shutil
import tempfile
import tomllib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import platformdirs
from filelock import FileLock

from fluxmem_graph.errors import ServerError

NEO4J_VERSION: Final = "2026.08.1"
SERVER_COORDINATES: Final = (
    f"org.neo4j:neo4j:{NEO4J_VERSION}",
    f"org.neo4j.app:neo4j-server:{NEO4J_VERSION}",
    "org.neo4j.client:neo4j-browser:5.24.0",
)
COMPILER_COORDINATES: Final = ("org.eclipse.jdt:ecj:3.44.0",)
SERVER_LOCK: Final = Path(__file__).with_name("neo4j.lock.toml")
COMPILER_LOCK: Final = Path(__file__).with_name("ecj.lock.toml")
MIN_FREE_BYTES: Final = 500 * 1024**2

_THREADS: Final = 12
_TIMEOUT_S: Final = 60
_ATTEMPTS: Final = 3


@dataclass(frozen=True)
class LockedJar:
    """One jar of a lock file: its Maven coordinate and the SHA-256 of its bytes."""

    group: str
    artifact: str
    version: str
    classifier: str | None
    sha256: str

    @property
    def coordinate(self) -> str:
        """The jar as `group:artifact:jar[:classifier]:version`."""
        return ":".join(filter(None, (self.group, self.artifact, "jar", self.classifier, self.version)))

    @property
    def path(self) -> Path:
        """Where the jar lies in a Maven repository, relative to its root."""
        name = "-".join(filter(None, (self.artifact, self.version, self.classifier)))
        return Path(*self.group.split("."), self.artifact, self.version, f"{name}.jar")


def server_jars(progress: Callable[[str], None] | None = None) -> list[Path]:
    """Return all jars of the server, fetching those that the cache lacks. Raises ServerError."""
    return fetch(read_lock(SERVER_LOCK), cache_dir(), progress)


def resolve_ecj(progress: Callable[[str], None] | None = None) -> Path:
    """Return the jar of the Eclipse compiler, fetching it when the cache lacks it. Raises ServerError."""
    (jar,) = fetch(read_lock(COMPILER_LOCK), cache_dir(), progress)
    return jar


def cache_dir() -> Path:
    """Return the folder of the jars, a Maven repository that all profiles share."""
    return platformdirs.user_cache_path("fluxmem") / "maven"


def read_lock(path: Path) -> list[LockedJar]:
    """Read a lock file as jgo writes it."""
    entries = tomllib.loads(path.read_text(encoding="utf-8"))["dependencies"]
    return [
        LockedJar(e["groupId"], e["artifactId"], e["version"], e.get("classifier"), e["sha256"])
        for e in entries
    ]


def fetch(
    jars: Sequence[LockedJar], cache: Path, progress: Callable[[str], None] | None = None
) -> list[Path]:
    """Return the paths of the jars in a cache, downloading in parallel what it lacks.

    A jar gets its name in the cache only after its hash was checked. Raises ServerError.
    """
    if any(not (cache / jar.path).is_file() for jar in jars):
        try:
            cache.mkdir(parents=True, exist_ok=True)
            with FileLock(cache / ".lock"):
                missing = [jar for jar in jars if not (cache / jar.path).is_file()]
                _download_all(missing, cache, progress or (lambda _: None))
        except OSError as error:
            raise ServerError(
                f"can't fetch the server's files into {cache}: {error}; check the network and the disk, "
                "then run it again"
            ) from error
    return [cache / jar.path for jar in jars]


def require_disk_space(folder: Path, wanted: int = 0) -> None:
    """Raise ServerError when the disk of an existing folder has not so many bytes and 500 MB beside them."""
    free, needed = shutil.disk_usage(folder).free, wanted + MIN_FREE_BYTES
    if free < needed:
        raise ServerError(
            f"only {free // 1024**2} MB are free where {folder} lies, and {needed // 1024**2} are needed; "
            "free some space and run it again"
        )


def _download_all(missing: Sequence[LockedJar], cache: Path, progress: Callable[[str], None]) -> None:
    if not missing:
        return
    require_disk_space(cache)
    total = len(missing)
    progress(f"fetching {total} files into {cache}")
    with (
        tempfile.TemporaryDirectory(prefix=".part-", dir=cache) as part,
        ThreadPoolExecutor(_THREADS, thread_name_prefix="fluxmem-fetch") as pool,
    ):
        waiting = [pool.submit(_download, jar, Path(part), cache) for jar in missing]
        try:
            for done, future in enumerate(as_completed(waiting), start=1):
                future.result()
                if done % 25 == 0 or done == total:
                    progress(f"fetched {done} of {total} files")
        finally:
            pool.shutdown(wait=True, cancel_futures=True)


def _download(jar: LockedJar, part: Path, cache: Path) -> None:
    """Download next to the cache first: jgo writes in place, and a broken download must not look whole."""
    from jgo.maven import MavenContext

    context = MavenContext(repo_cache=part, timeout=_TIMEOUT_S)
    problem = ""
    for _ in range(_ATTEMPTS):
        (part / jar.path).unlink(missing_ok=True)
        try:
            got = context.create_dependency(jar.coordinate).artifact.resolve()
        # requests' errors are OSErrors; a missing artifact is a RuntimeError
        except (OSError, RuntimeError) as error:
            problem = str(error)
            continue
        if hashlib.sha256(got.read_bytes()).hexdigest() == jar.sha256:
            target = cache / jar.path
            target.parent.mkdir(parents=True, exist_ok=True)
            got.replace(target)
            return
        problem = "its bytes are not those of the lock file"
    raise ServerError(f"can't fetch {jar.coordinate}: {problem}; check the network, then run it again")
