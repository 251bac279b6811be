"""What scripts that measure share: a server of their own, a clock, and where their result goes."""

import json
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from fluxmem_graph import FluxMem, Settings, load_settings
from fluxmem_graph.server import EmbeddedServer

Result = TypeVar("Result")


@contextmanager
def own_server(profile: str, **sizes: int) -> Iterator[Settings]:
    """Give settings of a server in a temporary folder, which the first connection starts; both end after."""
    with tempfile.TemporaryDirectory(prefix=f"fluxmem-{profile}-") as home:
        settings = load_settings(home=Path(home), profile=profile, **sizes)
        try:
            yield settings
        finally:
            EmbeddedServer(settings).stop()


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds that one call took."""
    return measured(work)[1]


def measured(work: Callable[[], Result]) -> tuple[Result, float]:
    """Return what one call returned, and the milliseconds that it took."""
    started = time.perf_counter()
    done = work()
    return done, (time.perf_counter() - started) * 1000


def findings(memory: FluxMem) -> list[str]:
    """Return what the doctor finds in what was written."""
    # Whether this machine has memory to spare is no matter of that.
    return [
        f"{check.name}: {check.detail}"
        for check in memory.doctor().checks
        if not check.ok and check.name not in ("memory", "disk")
    ]


def write_result(result: Mapping[str, Any], path: Path | None) -> None:
    """Write a result as JSON where a file was asked for."""
    if path is not None:
        path.write_text(json.dumps(result, indent=2) + "\n", encoding="utf-8")
