"""Speed of activation and ingest, as ratios within one run on one server.

    python benchmarks/latency.py [--size 10000] [--tenants 100] [--seed 0]

Vectors and texts are perturbed copies of turns made up here; namespaces are fresh and erased at the end.
"""

import argparse
import json
import random
import time
import uuid
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

import numpy as np

from fluxmem_graph import FluxMem, NewMemory, load_settings
from fluxmem_graph.embedding import HashingEmbedder
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.graph.database import vectors
from fluxmem_graph.operations.ingesting import Ingest
from fluxmem_graph.operations.namespaces import Namespaces
from fluxmem_graph.protocols import FloatMatrix

PLACES = ["Lisbon", "Oslo", "Kyoto", "Quito", "Cairo", "Perth", "Turin", "Bergen", "Lima", "Accra"]
THINGS = [
    "kayak",
    "violin",
    "garden",
    "marathon",
    "painting",
    "bakery",
    "telescope",
    "novel",
    "quilt",
    "canoe",
]
VERBS = ["bought", "sold", "lost", "found", "repaired", "drew", "studied", "praised", "borrowed", "hid"]
CALL = "CALL fluxmem.activate($namespace, $text, $vector)"
BARE_CREATE = """CYPHER 25
UNWIND $rows AS row
CREATE (memory:BenchmarkFloor:Memory {namespace: $namespace, id: row.id, key: row.key, layer: 'semantic',
  status: 'active', content: row.content, text: row.text})
WITH memory, row
CALL db.create.setNodeVectorProperty(memory, 'embedding', toFloatList(row.embedding))"""


class RandomEmbedder:
    """Costs nothing: unit vectors around as many centres as there are topics."""

    def __init__(self, like: HashingEmbedder, seed: int) -> None:
        """Take name and dimension from the database's own embedder."""
        self.name, self.dimension = like.name, like.dimension
        self._random = np.random.default_rng(seed)
        self._centres = self._random.normal(size=(64, self.dimension))

    def embed(self, texts: Any) -> FloatMatrix:
        """Return an array of shape (len(texts), dimension)."""
        centres = self._centres[self._random.integers(0, 64, len(texts))]
        rows = centres + 0.8 * self._random.normal(size=(len(texts), self.dimension))
        unit: FloatMatrix = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit


def turns(count: int, seed: int) -> Iterator[NewMemory]:
    """Yield made-up dialogue turns in sessions of 20."""
    pick = random.Random(seed)
    for number in range(count):
        text = (
            f"I {pick.choice(VERBS)} a {pick.choice(THINGS)} in {pick.choice(PLACES)} and later "
            f"{pick.choice(VERBS)} the {pick.choice(THINGS)} number {pick.randrange(10_000)}."
        )
        yield NewMemory(
            text, f"t{number}", "benchmark", pick.choice(["Ada", "Bo"]), session=str(number // 20)
        )


def timed(work: Callable[[], object]) -> float:
    """Return the milliseconds that one call took."""
    started = time.perf_counter()
    work()
    return (time.perf_counter() - started) * 1000


def query_times(memory: FluxMem, embedder: RandomEmbedder, rounds: int, seed: int) -> dict[str, float]:
    """Return p50 in milliseconds of each kind of query, interleaved so that noise hits all alike."""
    pick = random.Random(seed)
    times: dict[str, list[float]] = {"vector": [], "CALL activate": [], "python activate": []}
    namespace, database = memory.namespace, memory.database
    for turn in range(rounds + 20):
        text = f"Who {pick.choice(VERBS)} a {pick.choice(THINGS)} in {pick.choice(PLACES)}?"
        row = embedder.embed([text])
        vector, plain = vectors(row)[0], row[0].tolist()
        activate = memory.formation.activate_vector
        measured = {
            "vector": timed(
                partial(database.run, "fluxmem.search", namespace=namespace, embedding=vector, topK=10)
            ),
            "CALL activate": timed(
                partial(database.call, CALL, namespace=namespace, text=text, vector=plain)
            ),
            "python activate": timed(partial(activate, text, vector, top_k=10, where={})),
        }
        if turn >= 20:
            for name, value in measured.items():
                times[name].append(value)
    return {name: median(values) for name, values in times.items()}


def ingest_rates(memory: FluxMem, embedder: RandomEmbedder, count: int, seed: int) -> dict[str, float]:
    """Return memories per second, without embedding: bare nodes, and ingest with log, entities and order."""
    rates: dict[str, list[float]] = {"bare nodes": [], "ingest": []}
    for repeat in range(3):
        items = list(turns(count, seed + repeat))
        bare = f"bench-{uuid.uuid4().hex}"
        rows = [
            {"id": str(n), "key": str(n), "content": item.content, "text": item.content, "embedding": vector}
            for n, (item, vector) in enumerate(
                zip(items, vectors(embedder.embed([item.content for item in items])), strict=True)
            )
        ]
        rates["bare nodes"].append(count / timed(partial(write_bare, memory, bare, rows)) * 1000)
        Namespaces(memory.database).erase(bare)
        name = f"bench-{uuid.uuid4().hex}"
        run = Ingest(memory.database, embedder, name, "benchmark")
        rates["ingest"].append(count / timed(partial(run.run, items)) * 1000)
        Namespaces(memory.database).erase(name)
    return {name: median(values) for name, values in rates.items()}


def write_bare(memory: FluxMem, namespace: str, rows: list[dict[str, Any]]) -> None:
    """Write nodes with the same vectors and texts, and nothing else, in batches of 512."""
    for start in range(0, len(rows), 512):
        memory.database.call(BARE_CREATE, namespace=namespace, rows=rows[start : start + 512])


def main() -> None:
    """Measure and print one JSON document."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--size", type=int, default=10_000)
    parser.add_argument("--tenants", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    namespace = f"bench-{uuid.uuid4().hex}"
    embedder = RandomEmbedder(HashingEmbedder(), options.seed)
    settings = load_settings(namespace=namespace, embedder="hashing")
    with FluxMem.connect(settings, embedder=embedder) as memory:
        others = [f"{namespace}-{n}" for n in range(options.tenants - 1)]
        try:
            result = measure(memory, embedder, others, options)
        finally:
            for name in (namespace, *others):
                Namespaces(memory.database).erase(name)
    print(json.dumps({**result, "environment": environment(options.seed)}, indent=2))


def measure(
    memory: FluxMem, embedder: RandomEmbedder, others: list[str], options: argparse.Namespace
) -> dict[str, Any]:
    """Return times, rates and their ratios."""
    small = options.size // 10
    memory.ingest(turns(small, options.seed))
    result: dict[str, Any] = {f"{small} memories": query_times(memory, embedder, options.rounds, 1)}
    memory.ingest(turns(options.size, options.seed))
    result[f"{options.size} memories"] = query_times(memory, embedder, options.rounds, 2)
    for name in others:
        Ingest(memory.database, embedder, name, "benchmark").run(turns(100, options.seed))
    result[f"{options.size} memories, {len(others) + 1} tenants"] = query_times(
        memory, embedder, options.rounds, 3
    )
    result["memories per second"] = ingest_rates(memory, embedder, 2048, options.seed)
    first, large, many = list(result)[:3]
    result["ratios"] = {
        **{name: result[large][name] / result[large]["vector"] for name in result[large]},
        "activate, ten times the memories": result[large]["CALL activate"] / result[first]["CALL activate"],
        "activate, many tenants": result[many]["CALL activate"] / result[large]["CALL activate"],
        "ingest against bare nodes": result["memories per second"]["ingest"]
        / result["memories per second"]["bare nodes"],
    }
    return result


if __name__ == "__main__":
    main()
