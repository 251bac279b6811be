"""What recall over MCP adds to the library call: the same questions, memories and embedder, taking turns.

    python -m benchmarks.over_mcp [--size 1000] [--rounds 100] [--seed 0]

The server is `fluxmem mcp` as a client starts it, over standard input, and with `--http`. The namespace is
fresh, and erased at the end.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from statistics import median
from time import perf_counter
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from benchmarks.corpus import make_bases, make_turns
from fluxmem_graph import FluxMem, load_settings
from fluxmem_graph.evaluation.environment import environment

WARM_UP = 20
BASES = 200
COMMAND = [sys.executable, "-c", "from fluxmem_cli.main import run; run()", "mcp"]


@asynccontextmanager
async def clients(variables: dict[str, str]) -> AsyncIterator[dict[str, Client]]:
    """Start both servers and give a client of each."""
    token = uuid.uuid4().hex
    http = {**variables, "FLUXMEM_MCP_TOKEN": token}
    command = [*COMMAND, "--http", "--port", "0"]
    server = subprocess.Popen(command, env=http, stderr=subprocess.PIPE, text=True)
    try:
        assert server.stderr
        address = re.search(r"http://\S+/mcp", server.stderr.readline())
        assert address, "the server did not say where it listens"
        bearer = {"Authorization": f"Bearer {token}"}
        async with (
            httpx2.AsyncClient(headers=bearer, timeout=120) as connection,
            Client(streamable_http_client(address[0], http_client=connection)) as over_http,
            Client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=variables)) as over_stdio,
        ):
            yield {"stdio": over_stdio, "http": over_http}
    finally:
        server.terminate()
        server.wait()


async def recall_times(memory: FluxMem, questions: list[str], variables: dict[str, str]) -> dict[str, float]:
    """Return p50 in milliseconds of the library call and of the tool over each transport."""
    times: dict[str, list[float]] = {"library": [], "stdio": [], "http": []}
    async with clients(variables) as doors:
        for turn, question in enumerate(questions):
            started = perf_counter()
            expected = memory.context(question).text
            took = {"library": perf_counter() - started}
            for name, client in doors.items():
                started = perf_counter()
                result = await client.call_tool("recall", {"observation": question})
                took[name] = perf_counter() - started
                assert getattr(result.content[0], "text", None) == expected, f"another answer over {name}"
            if turn >= WARM_UP:
                for name, seconds in took.items():
                    times[name].append(seconds * 1000)
    return {name: median(values) for name, values in times.items()}


def compared(times: dict[str, float]) -> dict[str, Any]:
    """Return the times, and what each transport adds, in milliseconds and as a ratio."""
    doors = [name for name in times if name != "library"]
    return {
        "milliseconds, p50": times,
        "added milliseconds": {name: times[name] - times["library"] for name in doors},
        "ratio to the library": {name: times[name] / times["library"] for name in doors},
    }


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    settings = load_settings(namespace=f"benchmark-{uuid.uuid4().hex}")
    bases = make_bases(BASES, options.seed)
    questions = [bases[turn % BASES].question for turn in range(options.rounds + WARM_UP)]
    variables = {**os.environ, "FLUXMEM_NAMESPACE": settings.namespace}
    with FluxMem.connect(settings) as memory:
        try:
            memory.ingest(make_turns(bases, options.size, options.seed))
            times = anyio.run(recall_times, memory, questions, variables)
        finally:
            memory.erase_namespace()
        used = {"embedder": memory.embedder.name, "environment": environment(options.seed)}
    print(json.dumps({**vars(options), **compared(times), **used}, indent=2))


if __name__ == "__main__":
    main()
