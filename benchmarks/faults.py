"""What survives kill -9: ingests of many turns, with the server or the client killed at random points.

`python benchmarks/faults.py --points 20 --json FILE` starts a server of its own in a temporary folder. After
each kill the server is started again if need be and the same ingest run again; then every turn must be there
once, in order, with its log, and the doctor find nothing. At the end eight writers work on the same memories.
"""

import argparse
import contextlib
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.running import findings, write_result
from fluxmem_graph import FluxMem, NewMemory, Settings
from fluxmem_graph.errors import Conflict
from fluxmem_graph.server import EmbeddedServer

WRITERS = 8
ROUNDS = 6
SHARED = 10
# A kill falls anywhere in what happens to a batch: embedding, writing, committing.
LATEST_S = 0.4


def turns(count: int) -> Iterator[NewMemory]:
    """Turns of one session, each after the one before."""
    for n in range(count):
        yield NewMemory(f"turn {n} of Ada's talk", str(n), "chat", "Ada", session="1")


def client(home: str, namespace: str, count: int) -> None:
    """Ingest until killed, telling how far the reading is."""

    def told() -> Iterator[NewMemory]:
        for n, turn in enumerate(turns(count)):
            if n % 10 == 0:
                print(n, flush=True)
            yield turn

    with FluxMem.connect(settings(Path(home), namespace)) as memory:
        memory.ingest(told())


def settings(home: Path, namespace: str) -> Settings:
    """Return the settings of the server of this run."""
    return Settings(
        home=home,
        profile="faults",
        embedder="hashing",
        server_heap_mb=512,
        server_page_cache_mb=64,
        timeout_s=300,
        namespace=namespace,
    )


def strike(home: Path, number: int, count: int, chance: random.Random) -> dict[str, Any]:
    """Kill the server or the client once, repair by running again, and return what was found."""
    victim = chance.choice(["server", "client"])
    place, delay = chance.randrange(0, count, 10), chance.uniform(0, LATEST_S)
    chosen = settings(home, f"point-{number}")
    server = EmbeddedServer(chosen)
    pid = server.start().pid
    command = [sys.executable, __file__, "--client", str(home), chosen.namespace, str(count)]
    environment = {**os.environ, "FLUXMEM_TIMEOUT_S": "300"}
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as running:
        assert running.stdout is not None
        for line in running.stdout:
            if int(line) >= place:
                break
        time.sleep(delay)
        if victim == "server" and pid is not None:
            os.kill(pid, signal.SIGKILL)
            # A client without its server gives up by itself; nobody waits for its retries here.
            time.sleep(0.2)
        running.send_signal(signal.SIGKILL)
    with FluxMem.connect(chosen) as memory:
        before = memory.stats()["memory"].get("semantic active", 0)
        report = memory.ingest(turns(count))
        problems = faults(memory, count)
        if report.created + report.unchanged != count or report.failures:
            problems.append("not all turns were taken in")
        memory.erase_namespace()
    return {
        "victim": victim,
        "turn": place,
        "delay_s": round(delay, 3),
        "stored_before": before,
        "problems": problems,
    }


def faults(memory: FluxMem, count: int) -> list[str]:
    """Return what is lost, doubled or broken in a namespace that should hold `count` turns."""
    found = memory.stats()
    expected = {"turns": count, "operations": count, "links": count - 1}
    actual = {
        "turns": sum(found["memory"].values()),
        "operations": found["node"].get("operation", 0),
        "links": found["link"].get("NEXT", 0),
    }
    problems = [
        f"{name}: {actual[name]}, not {expected[name]}" for name in expected if actual[name] != expected[name]
    ]
    return problems + gaps(memory) + findings(memory)


def gaps(memory: FluxMem) -> list[str]:
    """Return whether a number is missing in the log."""
    numbers = sorted(operation.seq for operation in memory.log(top=100_000))
    return [] if numbers == list(range(1, len(numbers) + 1)) else ["the log's numbers have gaps"]


def crowd(memory: FluxMem) -> dict[str, Any]:
    """Let eight writers add, change and delete the same memories at once, and return what was found."""
    facts = [NewMemory(f"shared fact {n}", source="crowd") for n in range(SHARED)]
    ids = [stored.id for stored in memory.add_many(facts)]
    started = time.perf_counter()

    def write(writer: int) -> int:
        chance, conflicts = random.Random(writer), 0
        for turn in range(ROUNDS):
            shuffled = chance.sample(facts, len(facts))
            memory.add_many(shuffled)
            memory.ingest(NewMemory(f"common turn {n}", f"{turn}-{n}", "crowd") for n in range(SHARED))
            chosen = chance.choice(ids)
            try:
                memory.update(chosen, f"shared fact {ids.index(chosen)}, as of {writer}-{turn}")
            except Conflict:
                conflicts += 1
        return conflicts

    with ThreadPoolExecutor(WRITERS) as pool:
        conflicts = sum(pool.map(write, range(WRITERS)))
    found = {
        "writers": WRITERS,
        "conflicts": conflicts,
        "memories": memory.stats()["memory"],
        "problems": crowding(memory),
        "seconds": round(time.perf_counter() - started, 1),
    }
    memory.erase_namespace()
    return found


def crowding(memory: FluxMem) -> list[str]:
    """Return what eight writers doubled, lost or broke."""
    problems = findings(memory)
    twice = memory.database.call(
        "MATCH (m:Memory {namespace: $ns}) WHERE m.status = 'active' WITH m.source AS s, m.content AS c, "
        "m.external_id AS e, count(*) AS n WHERE n > 1 RETURN count(*) AS twice",
        ns=memory.namespace,
    )[0]["twice"]
    if twice:
        problems.append(f"{twice} memories are there twice")
    lost = ROUNDS * SHARED - sum(1 for one in memory.match({}, top=10_000) if one.external_id)
    if lost:
        problems.append(f"{lost} turns are lost")
    return problems + gaps(memory)


def run(points: int, count: int, seed: int) -> dict[str, Any]:
    """Return the figures of all kills and of the crowd."""
    chance = random.Random(seed)
    with tempfile.TemporaryDirectory(prefix="fluxmem-faults-") as folder:
        home = Path(folder)
        server = EmbeddedServer(settings(home, "crowd"))
        try:
            struck = []
            for number in range(points):
                struck.append(strike(home, number, count, chance))
                print(f"| {number + 1} | {' | '.join(map(str, list(struck[-1].values())[:4]))} "
                      f"| {'; '.join(struck[-1]['problems']) or 'none'} |", flush=True)  # fmt: skip
            with FluxMem.connect(settings(home, "crowd")) as memory:
                gathered = crowd(memory)
        finally:
            with contextlib.suppress(Exception):
                server.stop()
    return {"points": struck, "crowd": gathered, "turns": count, "seed": seed}


def main() -> None:
    """Read the arguments, run, print a table, and end with 1 when something was lost or doubled."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--turns", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--client", nargs=3, metavar=("HOME", "NAMESPACE", "TURNS"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.client:
        client(given.client[0], given.client[1], int(given.client[2]))
        return
    started = time.perf_counter()
    print("| point | killed | at turn | after s | stored before | problems |\n|---|---|---|---|---|---|")
    figures = run(given.points, given.turns, given.seed)
    figures["seconds"] = round(time.perf_counter() - started)
    crowded = figures["crowd"]
    print(f"{WRITERS} writers: {crowded['memories']}, problems: {'; '.join(crowded['problems']) or 'none'}")
    print(f"{figures['seconds']} s")
    write_result(figures, given.json)
    if crowded["problems"] or any(point["problems"] for point in figures["points"]):
        sys.exit(1)


if __name__ == "__main__":
    main()
