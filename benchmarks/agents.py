"""Fifty agents at once on one memory: no error, and how much longer a turn takes than for one agent alone.

    python benchmarks/agents.py [--agents 50] [--turns 20] [--size 10000] [--seed 0] [--json FILE]

A turn is what an agent does at a step: activate, record the step, give feedback, add a fact. Vectors are
known beforehand (corpus.py). The server is one of its own in a temporary folder, which is deleted at the end.
"""

import argparse
import json
import random
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from benchmarks.corpus import SEAM, Base, PerturbedEmbedder, make_bases, make_turns
from benchmarks.running import findings, own_server, write_result
from fluxmem_graph import FluxMem
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.evaluation.metrics import percentile

BASES = 500
WARM_UP = 20
AIM = 5


def turn(memory: FluxMem, episode: str, base: Base, number: int) -> None:
    """Do what an agent does at one step."""
    recalled = memory.activate(base.question)
    memory.step(episode, base.question, "answer", activated=recalled.facts)
    memory.feedback(episode, success=1.0, used=[hit.id for hit in recalled.facts[:2]])
    memory.add(f"{base.statement}{SEAM}this is turn {number}.", source=episode)


def live(memory: FluxMem, bases: Sequence[Base], turns: int, seed: int) -> list[float]:
    """Return the milliseconds of each turn of one agent."""
    chance, times = random.Random(seed), []
    episode = memory.start_episode(bases[seed % len(bases)].question)
    for number in range(turns):
        started = time.perf_counter()
        turn(memory, episode, chance.choice(bases), number)
        times.append(1000 * (time.perf_counter() - started))
    memory.end_episode(episode, success=1.0)
    return times


def measure(memory: FluxMem, bases: Sequence[Base], options: argparse.Namespace) -> dict[str, Any]:
    """Return the times of one agent alone and of all at once. Raises the first error of any agent."""
    memory.ingest(make_turns(bases, options.size, options.seed))
    live(memory, bases, WARM_UP, options.seed)
    alone = live(memory, bases, options.turns, options.seed + 1)
    with ThreadPoolExecutor(options.agents) as pool:
        started = time.perf_counter()
        lives = pool.map(lambda agent: live(memory, bases, options.turns, agent), range(options.agents))
        crowd = [took for times in lives for took in times]
        seconds = time.perf_counter() - started
    used = environment(options.seed)
    allowed = AIM * percentile(alone, 50) * options.agents / used["machine"]["cpu_count"]
    return {
        "agents": options.agents,
        "turns": len(crowd),
        "alone_ms_p50": percentile(alone, 50),
        "crowd_ms_p50": percentile(crowd, 50),
        "crowd_ms_p95": percentile(crowd, 95),
        "allowed_ms_p95": allowed,
        "turns_per_s": len(crowd) / seconds,
        "problems": findings(memory),
        "environment": used,
    }


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--agents", type=int, default=50)
    parser.add_argument("--turns", type=int, default=20)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    bases = make_bases(BASES, options.seed)
    with own_server("agents", server_heap_mb=2048) as settings:
        embedder = PerturbedEmbedder(load_embedder(settings), bases, options.seed)
        with FluxMem.connect(settings, embedder=embedder) as memory:
            result = measure(memory, bases, options)
    print(json.dumps(result, indent=2))
    write_result(result, options.json)


if __name__ == "__main__":
    main()
