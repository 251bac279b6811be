"""Activation, search, feedback and ingest as memory grows, in one namespace and in a thousand.

    python benchmarks/scale.py [--sizes 10000,100000,300000] [--shapes one,hub,thousand] [--rounds 100]
        [--json FILE] [--plot FILE]

Vectors are those of made-up turns from the real model, with noise (corpus.py). `hub` is the same memory with
one name in every turn, so that an entity has as many mentions as there are memories. The server is one of its
own in a temporary folder, which is deleted at the end.
"""

import argparse
import json
import random
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.corpus import Base, PerturbedEmbedder, make_bases, make_turns
from benchmarks.running import own_server, timed, write_result
from fluxmem_graph import FluxMem, NewMemory
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.graph.database import vectors

BASES = 1000
WARM_UP = 30
TENANTS = 1000
HUB = " Everyone at Northgate Harbour agreed."
CALL = "CALL fluxmem.activate($namespace, $text, $embedding)"
MEASURES = ("CALL activate", "python activate", "search", "feedback")


@dataclass(frozen=True, slots=True)
class Shape:
    """How memories are spread: over how many namespaces, and with a name in each turn or without."""

    name: str
    tenants: int
    hub: bool

    def turns(self, bases: Sequence[Base], tenant: int, seed: int, size: int) -> Iterator[NewMemory]:
        """Yield the turns of one tenant; more turns begin with the same ones."""
        for turn in make_turns(bases, size // self.tenants, seed * TENANTS + tenant):
            yield replace(turn, content=turn.content + HUB) if self.hub else turn


SHAPES = (Shape("one", 1, False), Shape("hub", 1, True), Shape("thousand", TENANTS, False))


def grow(
    memories: Sequence[FluxMem], shape: Shape, bases: Sequence[Base], sizes: tuple[int, int], seed: int
) -> float:
    """Add what is missing from the first size to the second, and return memories per second."""
    before, after = sizes
    started = time.perf_counter()
    for tenant, memory in enumerate(memories):
        turns = shape.turns(bases, tenant, seed, after)
        report = memory.ingest(islice(turns, before // shape.tenants, None))
        assert not report.failures, report.failures[:1]
    memories[0].database.call("CALL db.awaitIndexes(600)")
    return (after - before) / (time.perf_counter() - started)


def query(memories: Sequence[FluxMem], bases: Sequence[Base], rounds: int, seed: int) -> dict[str, float]:
    """Return p50 in milliseconds of each kind of call, in turns, each round in another namespace."""
    chance, times = random.Random(seed), {name: list[float]() for name in MEASURES}
    for number in range(rounds + WARM_UP):
        memory, base = chance.choice(memories), chance.choice(bases)
        for name, work in calls(memory, base).items():
            took = timed(work)
            if number >= WARM_UP:
                times[name].append(took)
    return {name: median(values) for name, values in times.items()}


def calls(memory: FluxMem, base: Base) -> dict[str, Callable[[], object]]:
    """Return what is measured; the episode that gets feedback is made beforehand."""
    matrix = memory.embedder.embed([base.question])
    vector = vectors(matrix)[0]
    about = {"namespace": memory.namespace, "text": base.question, "embedding": matrix[0].tolist()}
    episode = memory.start_episode(base.question)
    recalled = memory.activate(base.question)
    memory.step(episode, base.question, "answer", activated=recalled.facts)
    used = [hit.id for hit in recalled.facts[:2]]
    return {
        "CALL activate": lambda: memory.database.call(CALL, **about),
        "python activate": lambda: memory.formation.activate_vector(
            base.question, vector, top_k=10, where={}
        ),
        "search": lambda: memory.search(base.question),
        "feedback": lambda: memory.feedback(episode, success=1.0, used=used),
    }


def measure(
    shape: Shape, base: FluxMem, bases: Sequence[Base], options: argparse.Namespace
) -> list[dict[str, Any]]:
    """Return one entry per size."""
    memories = [base.within(f"{shape.name}-{tenant}") for tenant in range(shape.tenants)]
    points, before = [], 0
    for size in map(int, options.sizes.split(",")):
        rate = grow(memories, shape, bases, (before, size), options.seed)
        points.append(
            {
                "shape": shape.name,
                "memories": size,
                "ingest_per_s": rate,
                "ms": query(memories, bases, options.rounds, options.seed),
            }
        )
        print(json.dumps(points[-1]), file=sys.stderr, flush=True)
        before = size
    return points


def ratios(points: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Return, for each shape and call, the time at the largest size as a multiple of that at the smallest."""
    found: dict[str, dict[str, float]] = {}
    for shape in dict.fromkeys(point["shape"] for point in points):
        own = [point["ms"] for point in points if point["shape"] == shape]
        found[shape] = {name: own[-1][name] / own[0][name] for name in MEASURES}
    return found


def draw(points: Sequence[dict[str, Any]], path: Path) -> None:
    """Draw one panel per call and one for ingest, a line per shape, over the number of memories."""
    import matplotlib.figure

    figure = matplotlib.figure.Figure((15, 3.6), layout="constrained")
    panels = figure.subplots(1, len(MEASURES) + 1)
    for shape in dict.fromkeys(point["shape"] for point in points):
        own = [point for point in points if point["shape"] == shape]
        sizes = [point["memories"] for point in own]
        for axes, name in zip(panels, MEASURES, strict=False):
            axes.plot(sizes, [point["ms"][name] for point in own], marker="o", label=shape)
        panels[-1].plot(sizes, [point["ingest_per_s"] for point in own], marker="o", label=shape)
    for axes, title in zip(
        panels, (*(f"{name}, ms p50" for name in MEASURES), "ingest, memories/s"), strict=True
    ):
        axes.set(title=title, xlabel="memories", xscale="log", ylim=(0, None))
    panels[0].legend()
    figure.savefig(path, dpi=120)


def main() -> None:
    """Measure every shape at every size and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="10000,100000,300000")
    parser.add_argument("--shapes", default=",".join(shape.name for shape in SHAPES))
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    bases = make_bases(BASES, options.seed)
    with own_server("scale", server_heap_mb=4096, server_page_cache_mb=4096) as settings:
        embedder = PerturbedEmbedder(load_embedder(settings), bases, options.seed)
        with FluxMem.connect(settings, embedder=embedder) as base:
            shapes = [shape for shape in SHAPES if shape.name in options.shapes.split(",")]
            points = [point for shape in shapes for point in measure(shape, base, bases, options)]
    result = {
        "points": points,
        "largest / smallest": ratios(points),
        "embedder": embedder.name,
        "environment": environment(options.seed),
    }
    print(json.dumps(result, indent=2))
    write_result(result, options.json)
    if options.plot:
        draw(points, options.plot)


if __name__ == "__main__":
    main()
