"""How a system under comparison is driven: one JSON request a line on standard input, one answer a line.

Uses the standard library only, since every system runs in an environment of its own.
"""

import json
import os
import sys
import time
from array import array
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol


class Peer(Protocol):
    """A memory that holds one conversation at a time."""

    def index(self, turns: Sequence[dict[str, str]], vectors: Sequence[list[float]]) -> None:
        """Store the turns (`id`, `text` and what else the data has), in their order, with their vectors."""

    def search(self, question: str, vector: list[float], top_k: int) -> list[str]:
        """Return the ids of the best turns, best first."""

    def clear(self) -> None:
        """Delete what was stored."""


def server_login() -> tuple[str, str, str]:
    """Return address, user and password of the server that all systems share."""
    return os.environ["NEO4J_URI"], os.environ["NEO4J_USERNAME"], os.environ["NEO4J_PASSWORD"]


def serve(peer: Peer) -> None:
    """Answer requests until standard input ends; what the system itself prints goes to standard error."""
    answers, sys.stdout = sys.stdout, sys.stderr
    print(json.dumps({"ready": True}), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(answer(peer, request)), file=answers, flush=True)


def answer(peer: Peer, request: dict[str, Any]) -> dict[str, Any]:
    """Do one request, and time nothing but the system's own work."""
    if request["do"] == "index":
        vectors = [floats(row) for row in request["vectors"]]
        started = time.perf_counter()
        peer.index(request["turns"], vectors)
        return {"seconds": time.perf_counter() - started, "memory_mb": peak_mb()}
    if request["do"] == "search":
        vector = floats(request["vector"])
        started = time.perf_counter()
        ids = peer.search(request["question"], vector, request["top_k"])
        return {"ms": 1000 * (time.perf_counter() - started), "ids": ids}
    peer.clear()
    return {}


def floats(hexadecimal: str) -> list[float]:
    """Return the numbers of one vector; hexadecimal float32 is exact, and short on the wire."""
    return array("f", bytes.fromhex(hexadecimal)).tolist()


def peak_mb() -> int:
    """Return the most memory that this program has held so far; before `exec` it was another one."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return int(status.partition("VmHWM:")[2].split()[0]) // 1024


class Known:
    """An embedder that knows the vectors beforehand, so that embedding takes no time in anybody's figure."""

    def __init__(self) -> None:
        self.vectors: dict[str, list[float]] = {}

    def add(self, texts: Sequence[str], vectors: Sequence[list[float]]) -> None:
        """Keep the vector of each text."""
        self.vectors.update(zip(texts, vectors, strict=True))
