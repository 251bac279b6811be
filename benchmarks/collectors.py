"""What the garbage collector of the embedded server costs while that server is young.

    python benchmarks/collectors.py PATH [--rounds 60] [--json FILE]

PATH is a folder of conversations. Each collector gets a fresh server, twice and in a random order, which
stores the conversations again and again, answers twenty questions of each and erases it: a server compiles
its code while it works, and the code for one collector is dearer than that for another. Vectors are random,
so that embedding takes no time.
"""

import argparse
import random
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from statistics import median

import numpy as np
from rich.console import Console
from rich.progress import track

from benchmarks.running import own_server, timed, write_result
from fluxmem_cli.output import print_table
from fluxmem_graph import FluxMem, Settings
from fluxmem_graph.evaluation.datasets import RetrievalSet, load_retrieval_sets
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.operations.rows import labelled
from fluxmem_graph.protocols import FloatMatrix
from fluxmem_graph.server import EmbeddedServer

COLLECTORS = ("G1GC", "ParallelGC", "SerialGC")
REPETITIONS = 2
QUESTIONS = 20
CALL = "CALL fluxmem.activate($namespace, $text, $embedding) YIELD external_id RETURN external_id"


class RandomEmbedder:
    """A random direction for each text, the same whenever it comes."""

    name, dimension = "random", 384

    def __init__(self) -> None:
        self.generator, self.known = np.random.default_rng(0), dict[str, FloatMatrix]()

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension)."""
        new = [text for text in dict.fromkeys(texts) if text not in self.known]
        self.known.update(zip(new, self.generator.normal(size=(len(new), self.dimension)), strict=True))
        return np.array([self.known[text] for text in texts], dtype=np.float32)


@dataclass
class Young:
    """Turns a second of each ingest and milliseconds of each question, in the order of time."""

    rates: list[float] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    processor_s: float = 0.0

    def summary(self) -> dict[str, object]:
        """Return medians of the four quarters, and the server's processor time."""
        return {
            "turns_per_s": [round(median(part)) for part in quarters(self.rates)],
            "query_ms": [round(median(part), 1) for part in quarters(self.times)],
            "server_processor_s": round(self.processor_s),
        }


def quarters(values: Sequence[float]) -> Iterator[Sequence[float]]:
    """Cut a list in four."""
    size = len(values) // 4
    return (values[place * size : (place + 1) * size] for place in range(4))


def live(settings: Settings, sets: Sequence[RetrievalSet], rounds: int, collector: str) -> Young:
    """Store, ask and erase on a fresh server."""
    young, embedder = Young(), RandomEmbedder()
    pid = EmbeddedServer(settings, collector=collector).start().pid
    started = processor_s(pid)
    for number in track(range(rounds), collector, console=Console(stderr=True)):
        chosen = sets[number % len(sets)]
        fresh = settings.model_copy(update={"namespace": uuid.uuid4().hex})
        memories = [document.memory for document in chosen.documents]
        embedder.embed([labelled(memory) for memory in memories])
        with FluxMem.connect(fresh, embedder=embedder) as memory:
            young.rates.append(1000 * len(memories) / timed(partial(memory.ingest, memories)))
            for question in chosen.questions[:QUESTIONS]:
                vector = embedder.embed([question.text])[0].tolist()
                about = {"namespace": fresh.namespace, "text": question.text, "embedding": vector}
                young.times.append(timed(partial(memory.database.call, CALL, **about)))
            memory.erase_namespace()
    young.processor_s = processor_s(pid) - started
    return young


def processor_s(pid: int | None) -> float:
    """Return what a process has taken of processors so far, from Linux's hundredths."""
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(ticks[11]) + int(ticks[12])) / 100


def main() -> None:
    """Print a row for each collector."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path", type=Path)
    parser.add_argument("--rounds", type=int, default=60)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    sets = load_retrieval_sets(options.path)
    runs = []
    for collector in random.Random(0).sample(COLLECTORS * REPETITIONS, len(COLLECTORS) * REPETITIONS):
        with own_server("collectors", server_heap_mb=1024) as settings:
            young = live(settings, sets, options.rounds, collector)
        runs.append({"collector": collector, **young.summary()})
    runs.sort(key=lambda run: str(run["collector"]))
    print_table(tuple(runs[0]), [tuple(map(str, run.values())) for run in runs])
    write_result({"runs": runs, "environment": environment(0)}, options.json)


if __name__ == "__main__":
    main()
