"""Writes the lock files anew after a pinned version changed: `python -m fluxmem_graph.server.lock`."""

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from fluxmem_graph.server import artifacts


def write_lock(coordinates: Sequence[str], path: Path, cache: Path) -> None:
    """Resolve coordinates with everything they need at run time, and write jgo's lock file of it."""
    from jgo.env import LockFile
    from jgo.maven import MavenContext

    context = MavenContext(repo_cache=cache, timeout=60)
    wanted = [context.create_dependency(coordinate) for coordinate in coordinates]
    roots, needed = context.resolver.resolve(wanted)
    kept = [*roots, *(dependency for dependency in needed if dependency.scope in ("compile", "runtime"))]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda dependency: dependency.artifact.resolve(), kept))
    LockFile.from_resolved_dependencies(kept).save(path)


if __name__ == "__main__":
    write_lock(artifacts.SERVER_COORDINATES, artifacts.SERVER_LOCK, artifacts.cache_dir())
    write_lock(artifacts.COMPILER_COORDINATES, artifacts.COMPILER_LOCK, artifacts.cache_dir())
