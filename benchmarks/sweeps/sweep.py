"""How each setting of retrieval and learning changes quality and time: one sweep per setting, with a plot.

    python benchmarks/sweeps/sweep.py DATA [NAME...] -o FOLDER [--every 4]

DATA is a folder that holds sets of questions, such as `locomo` or `multihop/musique`. Each set is stored once
in a fresh namespace, erased at the end; then every value is tried on the same memory, since asking writes
nothing. The settings of learned links are tried after one pass with feedback, on the questions reduced to
their content words.
"""

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import replace
from pathlib import Path
from statistics import fmean, median
from typing import Any

from fluxmem_graph import load_settings
from fluxmem_graph.embedding import load_embedder
from fluxmem_graph.evaluation.datasets import Question, load_retrieval_sets
from fluxmem_graph.evaluation.environment import environment
from fluxmem_graph.evaluation.fluxmem_system import FluxMemSystem
from fluxmem_graph.evaluation.learning import learn_from, reworded
from fluxmem_graph.evaluation.metrics import recall_at
from fluxmem_graph.graph.database import vectors
from fluxmem_graph.retrieval.context import build_context

STAGE_ONE: dict[str, Sequence[float]] = {
    "dense": (0, 0.5, 1, 1.5, 2),
    "sparse": (0, 0.5, 1, 1.5, 2),
    "speaker": (0, 0.25, 0.5, 0.75, 1),
    "neighbour": (0, 0.2, 0.4, 0.6, 0.8),
    "session": (0, 0.15, 0.3, 0.45, 0.6),
    "named": (0, 0.25, 0.5, 0.75, 1),
    "title": (0, 0.35, 0.7, 1, 1.4),
    "entity": (0, 0.2, 0.4, 0.6, 0.8),
    "hub": (10, 50, 200, 1000),
}
LEARNED: dict[str, Sequence[float]] = {
    "support": (0, 1, 2, 3, 4),
    "topic": (0, 0.6, 1.2, 1.8, 2.4),
    "same": (0.5, 0.65, 0.75, 0.85, 0.95),
    "related": (0, 0.25, 0.4, 0.6, 0.8),
    "half_life_days": (7, 30, 90, 365),
}
TOP_KS = (3, 5, 10, 20, 40)
TOP_K = "top_k"
# As if one question had been asked a day.
AGED = """MATCH (episode:Memory {namespace: $namespace}) WHERE episode.layer = 'episodic'
WITH episode ORDER BY episode.started_at DESC
WITH collect(episode) AS episodes
UNWIND range(0, size(episodes) - 1) AS days
WITH episodes[days] AS episode, days
MATCH (episode)<-[link:ASSOCIATED]-(:Memory)
SET link.updated_at = datetime() - duration({days: days})"""

Asked = list[tuple[FluxMemSystem, Question, str, Any]]


def ask(asked: Asked, changed: dict[str, float], top_k: int) -> dict[str, float]:
    """Ask with some settings changed; return recall in 0..1, median milliseconds, tokens of a context."""
    recalls, times, tokens = [], [], []
    for system, question, text, vector in asked:
        formation = system.memory.formation
        settings = formation.settings.model_copy(update=changed)
        started = time.perf_counter()
        found = replace(formation, settings=settings).activate_vector(text, vector, top_k=top_k, where={})
        times.append((time.perf_counter() - started) * 1000)
        ids = [hit.external_id or "" for hit in found.facts]
        recalls.append([recall_at(ids, question.evidence, k) for k in (5, 10, top_k)])
        tokens.append(build_context(found, task=None, budget=2**31).tokens)
    at_5, at_10, at_k = (fmean(column) for column in zip(*recalls, strict=True))
    return {
        "recall@5": at_5,
        "recall@10": at_10,
        "recall@k": at_k,
        "query_ms_p50": median(times),
        "tokens": fmean(tokens),
    }


def sweeps(
    systems: Sequence[tuple[FluxMemSystem, Sequence[Question]]], names: Sequence[str]
) -> Iterator[Any]:
    """Yield the name and points of every sweep; what needs a pass with feedback comes last."""
    plain = [
        (system, q, q.text, embedded(system, q.text)) for system, questions in systems for q in questions
    ]
    if TOP_K in names:
        yield TOP_K, [{"value": k, **ask(plain, {}, k)} for k in TOP_KS]
    for name in [name for name in names if name in STAGE_ONE]:
        yield name, [{"value": value, **ask(plain, {name: value}, 10)} for value in STAGE_ONE[name]]
    learned = [name for name in names if name in LEARNED]
    if not learned:
        return
    again: Asked = []
    for system, questions in systems:
        for question in questions:
            learn_from(system, question, lambda feedback: feedback)
        system.memory.database.call(AGED, namespace=system.memory.namespace)
        again += [(system, q, reworded(q), embedded(system, reworded(q))) for q in questions]
    for name in learned:
        yield name, [{"value": value, **ask(again, {name: value}, 10)} for value in LEARNED[name]]


def embedded(system: FluxMemSystem, text: str) -> Any:
    """Return the vector of a text as the driver takes it."""
    return vectors(system.memory.embedder.embed([text]))[0]


def plot(points: Sequence[dict[str, float]], name: str, file: Path) -> None:
    """Draw recall against the setting's values."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(4.5, 3), layout="constrained")
    axes = figure.subplots()
    values = [point["value"] for point in points]
    for metric in ("recall@k",) if name == TOP_K else ("recall@5", "recall@10"):
        axes.plot(values, [point[metric] for point in points], marker="o", label=metric)
    axes.set_xlabel(name)
    axes.set_ylabel("recall")
    axes.legend()
    figure.savefig(file, dpi=120)


def main() -> None:
    """Run the sweeps and write one JSON document and one plot each."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("data", type=Path)
    parser.add_argument("names", nargs="*", help="settings; all if none is named")
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument("--every", type=int, default=4, help="ask every so-manieth question")
    options = parser.parse_args()
    settings = load_settings()
    embedder = load_embedder(settings)
    options.output.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        systems = []
        for found in load_retrieval_sets(options.data):
            system = stack.enter_context(closing(FluxMemSystem(settings, embedder)))
            system.index(found.documents)
            systems.append((system, found.questions[:: options.every]))
        names = options.names or [TOP_K, *STAGE_ONE, *LEARNED]
        for name, points in sweeps(systems, names):
            document = {
                "setting": name,
                "data": options.data.name,
                "questions": sum(len(questions) for _, questions in systems),
                "points": points,
                "environment": environment(0),
            }
            file = options.output / f"{options.data.name}-{name}.json"
            file.write_text(json.dumps(document, indent=1) + "\n", encoding="utf-8")
            plot(points, name, file.with_suffix(".png"))
            print(name, *(f"{p['value']}: {p['recall@10']:.3f}" for p in points), flush=True)


if __name__ == "__main__":
    main()
