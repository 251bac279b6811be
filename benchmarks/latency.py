"""Speed of activation and ingest, and recall of `fluxmem.search`, as ratios within one run on one server.

    python benchmarks/latency.py [--size 10000] [--tenants 100] [--rounds 200] [--seed 0]

A tenth of the size is compared with the size. Server and embedder are those of the settings; corpus.py says
what is stored. Namespaces are fresh, and erased at the end.
"""

import argparse
import json
import random
import signal
import sys
import time
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from statistics import median
from typing import Any

from benchmarks.corpus import Base, PerturbedEmbedder, make_bases, make_turns
from benchmarks.running import timed
from fluxmem_graph import FluxMem, NewMemory, load_settings
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.graph.database import vectors
from fluxmem_graph.operations.ingesting import Ingest
from fluxmem_graph.operations.namespaces import Namespaces
from fluxmem_graph.operations.rows import labelled
from fluxmem_graph.protocols import Embedder, FloatMatrix

BASES = 1000
WARM_UP = 100
TENANT_SIZE = 100
RECALL_QUERIES = 30
INGESTED = 2048
# A pair with the model takes a minute where a pair without takes seconds.
REPEATS, EMBEDDED_REPEATS = 7, 3
# After a load, Lucene still merges its parts in the background, and a query shares two cores with that.
SETTLING_S = 30
CALL = "CALL fluxmem.activate($namespace, $text, $vector)"
BARE_SEARCH = """CYPHER 25
MATCH (memory:Memory)
  SEARCH memory IN (
    VECTOR INDEX memory_embedding FOR $embedding
    WHERE memory.namespace = $namespace AND memory.status = 'active'
    LIMIT $topK
  ) SCORE AS score
RETURN memory.id AS id, score"""
EXACT = """CYPHER 25
MATCH (memory:Memory)
WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.status = 'active'
RETURN memory.id AS id
ORDER BY vector.similarity.cosine(memory.embedding, $embedding) DESC LIMIT $topK"""
BARE_CREATE = """CYPHER 25
UNWIND $rows AS row
CREATE (memory:Memory {namespace: $namespace, id: row.id, key: row.id, layer: 'semantic',
  status: 'active', content: row.text, text: row.text})
WITH memory, row
CALL db.create.setNodeVectorProperty(memory, 'embedding', toFloatList(row.embedding))"""


@dataclass(frozen=True, slots=True)
class Bench:
    """What all measurements share; `fresh` names a namespace that will be erased."""

    memory: FluxMem
    real: Embedder
    perturbed: PerturbedEmbedder
    bases: Sequence[Base]
    fresh: Callable[[], str]
    seed: int

    def turns(self, count: int, *, other: int = 0) -> Iterator[NewMemory]:
        """Yield turns; another `other` gives others."""
        return make_turns(self.bases, count, self.seed + other)

    def questions(self, count: int, *, other: int = 0) -> list[str]:
        """Return questions about the bases, in a random order that `other` changes."""
        return random.Random(self.seed + other).choices([base.question for base in self.bases], k=count)


class Known:
    """An embedder that made its vectors beforehand, so that embedding takes no time."""

    def __init__(self, embedder: Embedder, texts: Sequence[str]) -> None:
        """Embed the texts; it knows no others."""
        self.name, self.dimension = embedder.name, embedder.dimension
        self.matrix = embedder.embed(texts)
        self._row = {text: row for row, text in enumerate(texts)}

    def embed(self, texts: Sequence[str]) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension)."""
        return self.matrix[[self._row[text] for text in texts]]


def say(message: str) -> None:
    """Tell on stderr what goes on; stdout is for the result."""
    print(f"{time.strftime('%H:%M:%S')} {message}", file=sys.stderr, flush=True)


def told(figures: dict[str, float]) -> dict[str, float]:
    """Return the figures, and say them: a run that is stopped has measured something."""
    say(", ".join(f"{name} {value:.3g}" for name, value in figures.items()))
    return figures


@contextmanager
def erased_at_the_end(memory: FluxMem) -> Iterator[Callable[[], str]]:
    """Give a maker of namespaces; erase what it made and the memory's own in the end, also after an error."""
    names = [memory.namespace]

    def fresh() -> str:
        names.append(f"benchmark-{uuid.uuid4().hex}")
        return names[-1]

    try:
        yield fresh
    finally:
        say(f"erasing {len(names)} namespaces")
        for name in names:
            Namespaces(memory.database).erase(name)


def query_times(bench: Bench, rounds: int, other: int) -> dict[str, float]:
    """Return p50 in milliseconds of each kind of query, interleaved so that noise hits all alike."""
    memory, times = bench.memory, dict[str, list[float]]()
    for turn, text in enumerate(bench.questions(rounds + WARM_UP, other=other)):
        row = bench.perturbed.embed([text])
        vector, plain = vectors(row)[0], row[0].tolist()
        call = partial(memory.database.call, namespace=memory.namespace)
        measured = {
            "vector": timed(partial(call, BARE_SEARCH, embedding=vector, topK=10)),
            "CALL activate": timed(partial(call, CALL, text=text, vector=plain)),
            "python activate": timed(
                partial(memory.formation.activate_vector, text, vector, top_k=10, where={})
            ),
        }
        for name, value in measured.items():
            if turn >= WARM_UP:
                times.setdefault(name, []).append(value)
    return {name: median(values) for name, values in times.items()}


def index_recall(bench: Bench, top_k: int) -> float:
    """Return the share of the exact nearest memories that `fluxmem.search` finds."""
    memory, found = bench.memory, 0
    for vector in vectors(bench.perturbed.embed(bench.questions(RECALL_QUERIES, other=9))):
        about = {"namespace": memory.namespace, "embedding": vector, "topK": top_k}
        nearest = {row["id"] for row in memory.database.call(EXACT, **about)}
        found += len(nearest & {row["id"] for row in memory.database.run("fluxmem.search", **about)})
    return found / (top_k * RECALL_QUERIES)


def against_bare_nodes(bench: Bench) -> dict[str, float]:
    """Return memories per second without embedding: bare nodes, and ingest with log, entities and order."""
    pairs = []
    for repeat in range(REPEATS):
        items = list(bench.turns(INGESTED, other=repeat))
        known = Known(bench.perturbed, [labelled(item) for item in items])
        rows = [
            {"id": str(number), "text": item.content, "embedding": vector}
            for number, (item, vector) in enumerate(zip(items, vectors(known.matrix), strict=True))
        ]
        bare = timed(partial(write_bare, bench, rows))
        pairs.append((bare, timed(partial(ingest, bench, known, items))))
    return rates("bare nodes", "ingest", pairs)


def against_embedder(bench: Bench) -> dict[str, float]:
    """Return memories per second: the embedder alone on their texts, and ingest with that embedder."""
    pairs = []
    for repeat in range(EMBEDDED_REPEATS):
        items = list(bench.turns(INGESTED, other=repeat))
        alone = timed(partial(bench.real.embed, [labelled(item) for item in items]))
        pairs.append((alone, timed(partial(ingest, bench, bench.real, items))))
    return rates("embedder alone", "ingest", pairs)


def rates(first: str, second: str, pairs: Sequence[tuple[float, float]]) -> dict[str, float]:
    """Return both rates, and the second as a share of the first, as medians over pairs of milliseconds."""
    return {
        first: median(1000 * INGESTED / before for before, _ in pairs),
        second: median(1000 * INGESTED / after for _, after in pairs),
        "share": median(before / after for before, after in pairs),
    }


def write_bare(bench: Bench, rows: list[dict[str, Any]]) -> None:
    """Write nodes with the same vectors and texts, and nothing else, in batches of 512."""
    namespace = bench.fresh()
    for start in range(0, len(rows), 512):
        bench.memory.database.call(BARE_CREATE, namespace=namespace, rows=rows[start : start + 512])


def ingest(bench: Bench, embedder: Embedder, items: Sequence[NewMemory]) -> None:
    """Store the items in a namespace of their own."""
    Ingest(bench.memory.database, embedder, bench.fresh(), "benchmark").run(items)


def measure(bench: Bench, size: int, tenants: int, rounds: int) -> dict[str, Any]:
    """Return times, rates and their ratios."""
    small, times = size // 10, []
    for count in (small, size):
        say(f"storing {count} memories and querying them")
        bench.memory.ingest(bench.turns(count))
        time.sleep(SETTLING_S)
        times.append(told(query_times(bench, rounds, count)))
    say(f"adding {tenants - 1} tenants and querying again")
    for _ in range(tenants - 1):
        ingest(bench, bench.perturbed, list(bench.turns(TENANT_SIZE)))
    time.sleep(SETTLING_S)
    times.append(told(query_times(bench, rounds, tenants)))
    say(f"comparing {RECALL_QUERIES} searches with exact scans")
    recall = told({"recall@10 of fluxmem.search": index_recall(bench, 10)})
    say("ingesting without a model, and bare nodes")
    bare = told(against_bare_nodes(bench))
    say(f"ingesting with {bench.real.name}, and that alone")
    embedded = told(against_embedder(bench))
    names = [f"{small} memories", f"{size} memories", f"{size} memories, {tenants} tenants"]
    shares = {"ingest / bare nodes": bare["share"], "ingest / embedder alone": embedded["share"]}
    return {
        "milliseconds": dict(zip(names, times, strict=True)),
        "memories per second, without embedding": bare,
        "memories per second, with embedding": embedded,
        "ratios": ratios(*times) | recall | shares,
    }


def ratios(small: dict[str, float], full: dict[str, float], many: dict[str, float]) -> dict[str, float]:
    """Return what of the times holds on other machines too."""
    call = "CALL activate"
    return {
        "CALL activate / vector": full[call] / full["vector"],
        "python activate / vector": full["python activate"] / full["vector"],
        "CALL activate, ten times the memories": full[call] / small[call],
        "CALL activate, all tenants / one": many[call] / full[call],
    }


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    # So that a run that is stopped erases its namespaces too.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    settings = load_settings(namespace=f"benchmark-{uuid.uuid4().hex}")
    say(f"embedding {BASES} turns and questions with {settings.embedder}")
    bases, real = make_bases(BASES, options.seed), load_embedder(settings)
    perturbed = PerturbedEmbedder(real, bases, options.seed)
    with FluxMem.connect(settings, embedder=perturbed) as memory, erased_at_the_end(memory) as fresh:
        bench = Bench(memory, real, perturbed, bases, fresh, options.seed)
        result = measure(bench, options.size, options.tenants, options.rounds)
    used = {"embedder": real.name, "environment": environment(options.seed)}
    print(json.dumps({**vars(options), **result, **used}, indent=2))


if __name__ == "__main__":
    main()
