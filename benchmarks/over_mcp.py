"""What recall over MCP adds to the library call: the same questions, memories and embedder, taking turns.

    python -m benchmarks.over_mcp [--size 1000] [--rounds 100] [--seed 0] [--json FILE]

The servers are `fluxmem mcp` as a client starts it, over standard input, and with `--http`; the client is the
SDK's own. The namespace is fresh, and erased at the end.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import anyio
import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client

from benchmarks.corpus import make_bases, make_turns
from benchmarks.running import write_result
from fluxmem_graph import FluxMem, load_settings
from fluxmem_graph.evaluation.environment import environment

Recall = Callable[[str], Awaitable[str]]
"""From a question to the context that one door gives."""

LIBRARY = "library"
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


def through(client: Client) -> Recall:
    """Return the tool of a client."""

    async def recall(question: str) -> str:
        result = await client.call_tool("recall", {"observation": question})
        return str(getattr(result.content[0], "text", result.content))

    return recall


def called(memory: FluxMem) -> Recall:
    """Return what the tool calls."""

    async def recall(question: str) -> str:
        return memory.context(question).text

    return recall


async def recall_times(doors: Mapping[str, Recall], questions: Sequence[str]) -> dict[str, list[float]]:
    """Return the milliseconds of each door, the first WARM_UP questions left out.

    The doors take turns in asking first: what the database keeps of a question helps those after it.
    """
    times: dict[str, list[float]] = {name: [] for name in doors}
    names = [*doors]
    for turn, question in enumerate(questions):
        said = set()
        for name in names[turn % len(names) :] + names[: turn % len(names)]:
            started = perf_counter()
            said.add(await doors[name](question))
            times[name].append((perf_counter() - started) * 1000)
        if len(said) > 1:
            raise AssertionError(f"the doors answer {question!r} differently")
    return {name: values[WARM_UP:] for name, values in times.items()}


async def seconds_to_tools(variables: dict[str, str]) -> float:
    """Return how long a client waits for the list of tools of a server that it starts."""
    started = perf_counter()
    async with Client(StdioServerParameters(command=COMMAND[0], args=COMMAND[1:], env=variables)) as client:
        await client.list_tools()
        return perf_counter() - started


async def measure(memory: FluxMem, questions: Sequence[str], variables: dict[str, str]) -> dict[str, Any]:
    """Return the start of a server and the times of every door."""
    start = await seconds_to_tools(variables)
    async with clients(variables) as found:
        doors = {LIBRARY: called(memory), **{name: through(client) for name, client in found.items()}}
        times = await recall_times(doors, questions)
    medians = {name: median(values) for name, values in times.items()}
    return {"seconds until the tools are listed": start, **compared(medians)}


def compared(times: Mapping[str, float]) -> dict[str, Any]:
    """Return the times, and what each transport adds, in milliseconds and as a ratio."""
    doors = [name for name in times if name != LIBRARY]
    return {
        "milliseconds, p50": dict(times),
        "added milliseconds": {name: times[name] - times[LIBRARY] for name in doors},
        "ratio to the library": {name: times[name] / times[LIBRARY] for name in doors},
    }


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the result there too")
    options = parser.parse_args()
    settings = load_settings(namespace=f"benchmark-{uuid.uuid4().hex}")
    bases = make_bases(BASES, options.seed)
    questions = [bases[turn % BASES].question for turn in range(options.rounds + WARM_UP)]
    variables = {**os.environ, "FLUXMEM_NAMESPACE": settings.namespace}
    with FluxMem.connect(settings) as memory:
        try:
            memory.ingest(make_turns(bases, options.size, options.seed))
            result = anyio.run(measure, memory, questions, variables)
        finally:
            memory.erase_namespace()
        used = {"embedder": memory.embedder.name, "environment": environment(options.seed)}
    asked = {"size": options.size, "rounds": options.rounds}
    document = {**asked, **result, **used}
    print(json.dumps(document, indent=2))
    write_result(document, options.json)


if __name__ == "__main__":
    main()
