"""Time and memory of a consolidation against the number of episodes, each size in a process of its own.

    python benchmarks/consolidation.py [--sizes 1000,5000,20000] [--seed 0]

Every tenth episode is another kind of task: a made-up statement's vector, embedded once by the model of the
settings, and each of its runs that vector with noise. The skills' own texts get made-up vectors too, so that
the time is that of this project and not of the model. Namespaces are fresh, and erased at the end.
"""

import argparse
import json
import multiprocessing
import resource
import sys
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from benchmarks.corpus import make_bases, perturbed
from benchmarks.running import measured
from fluxmem_graph import FluxMem, NewEpisode, NewStep, load_settings
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.operations.skills import Skills
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.stages.clustering import cluster

RUNS_A_TASK = 10
TOOLS = ("search", "read", "compare", "book", "pay", "cancel", "write", "ask", "check", "send")
BASES = 2000


class TaskEmbedder:
    """Gives each text the vector of the task that its first line names, with noise; any other text noise."""

    def __init__(self, name: str, tasks: dict[str, int], vectors: FloatMatrix, seed: int) -> None:
        self.name, self.dimension = name, vectors.shape[1]
        self._tasks, self._vectors = tasks, vectors
        self._random = np.random.default_rng(seed)

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension), rows of unit length."""
        places = [self._tasks.get(text.partition("\n")[0]) for text in texts]
        bases = np.stack([np.zeros(self.dimension) if p is None else self._vectors[p] for p in places])
        return perturbed(bases, self._random)


def episodes(tasks: Sequence[str], count: int, seed: int) -> Iterator[NewEpisode]:
    """Yield runs of five to eight steps: the tools of the task, sometimes one more, mostly successful."""
    random = np.random.default_rng(seed)
    for number in range(count):
        task = number % len(tasks)
        tools = [TOOLS[(task * 7 + place * place) % len(TOOLS)] for place in range(5 + task % 4)]
        if random.random() < 0.3:
            tools.insert(int(random.integers(len(tools))), TOOLS[int(random.integers(len(TOOLS)))])
        steps = tuple(NewStep("ok", f'{tool}(item="{number}", day={task % 28 + 1})') for tool in tools)
        success = float(random.random() < 0.7)
        yield NewEpisode(tasks[task], steps, external_id=str(number), source="benchmark", success=success)


def measure(size: int, seed: int, tasks: list[str], vectors: FloatMatrix) -> dict[str, Any]:
    """Return times and memory of this process for one size."""
    settings = load_settings(namespace=f"benchmark-{uuid.uuid4().hex}")
    kinds = tasks[: size // RUNS_A_TASK]
    embedder = TaskEmbedder(settings.embedder, {task: n for n, task in enumerate(kinds)}, vectors, seed)
    with FluxMem.connect(settings, embedder=embedder) as memory:
        try:
            memory.ingest(episodes(kinds, size, seed))
            trajectories, reading = measured(
                Skills(memory.database, memory.namespace, "benchmark").trajectories
            )
            before = peak_mb()
            found, clustering = measured(lambda: cluster(trajectories.vectors, settings.consolidation))
            clustered = peak_mb()
            done, all_of_it = measured(lambda: memory.consolidate(apply=True))
            _, again = measured(lambda: memory.consolidate(apply=True))
        finally:
            memory.erase_namespace()
    return {
        "episodes": size,
        "kinds of task": len(kinds),
        "clusters": done.clusters,
        "noise": done.noise / size,
        "dimensions compared": found.dimensions,
        "skills": len(done.of("create")),
        "seconds": {
            "reading": reading / 1000,
            "clustering": clustering / 1000,
            "first run": all_of_it / 1000,
            "second run": again / 1000,
        },
        "memory_mb": {"before clustering": before, "after clustering": clustered, "at the end": peak_mb()},
    }


def peak_mb() -> int:
    """Return the most memory that this process has held so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def main() -> None:
    """Measure every size and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--sizes", default="1000,5000,20000")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    sizes = [int(size) for size in options.sizes.split(",")]
    settings = load_settings()
    bases = make_bases(BASES, options.seed)
    tasks = [f"{base.statement} ({number})" for number, base in enumerate(bases)]
    vectors = load_embedder(settings).embed(tasks[: max(sizes) // RUNS_A_TASK])
    results = []
    for size in sizes:
        print(f"consolidating {size} episodes", file=sys.stderr, flush=True)
        # A process of its own, since the memory that a process held once is not told apart later.
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            results.append(pool.apply(measure, (size, options.seed, tasks, vectors)))
        print(json.dumps(results[-1]), file=sys.stderr, flush=True)
    used = {"embedder": settings.embedder, "environment": environment(options.seed)}
    print(json.dumps({"sizes": results, **used}, indent=2))


if __name__ == "__main__":
    main()
