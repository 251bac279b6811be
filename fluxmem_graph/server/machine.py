"""What the machine of an embedded server has left."""

import shutil
from pathlib import Path
from typing import Final

import psutil

from fluxmem_graph.server.artifacts import MIN_FREE_BYTES
from fluxmem_graph.settings import Settings
from fluxmem_graph.types import Check

LOW_MEMORY_BYTES: Final = 256 * 1024**2
_MB: Final = 1024**2


def disk_check(home: Path) -> Check:
    """Is there room for the data to grow."""
    existing = next(folder for folder in (home, *home.parents) if folder.exists())
    free = shutil.disk_usage(existing).free
    used = sum(file.stat().st_size for file in home.rglob("*") if file.is_file()) if home.exists() else 0
    said = f"{free // _MB} MB free, {used // _MB} MB used by {home}"
    if free < MIN_FREE_BYTES:
        return Check("disk", False, said, f"free some space: the server needs {MIN_FREE_BYTES // _MB} MB")
    return Check("disk", True, said)


def memory_check(settings: Settings, pid: int | None) -> Check:
    """Does what the server may take fit into the machine."""
    memory = psutil.virtual_memory()
    wanted = settings.server_heap_mb + settings.server_page_cache_mb
    used = psutil.Process(pid).memory_info().rss // _MB if pid is not None else 0
    said = (
        f"{memory.available // _MB} of {memory.total // _MB} MB available, the server uses {used} and may "
        f"use {wanted} for heap and page cache"
    )
    fix = "lower FLUXMEM_SERVER_HEAP_MB and FLUXMEM_SERVER_PAGE_CACHE_MB, or end other programs"
    if wanted * _MB > memory.total or memory.available < LOW_MEMORY_BYTES:
        return Check("memory", False, said, fix)
    return Check("memory", True, said)
