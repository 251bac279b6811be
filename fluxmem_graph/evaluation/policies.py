"""Policies on streams with known answers: the evidence that a bounded memory still brings back."""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.evaluation.datasets import RetrievalSet, load_retrieval_sets
from fluxmem_graph.evaluation.runner import Progress, ticker
from fluxmem_graph.operations.rows import labelled
from fluxmem_graph.policies.baselines import SCORES, KeepHighest, Rules, Static
from fluxmem_graph.policies.checkpoint import Checkpoint, holds_training_data
from fluxmem_graph.policies.features import Chunk
from fluxmem_graph.policies.memory import PARTS, Capacity
from fluxmem_graph.policies.policy import Policy, Run, Stream, run_policy
from fluxmem_graph.policies.recall import Asked, Exam, Reader
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.settings import RetrievalSettings

SEEDS = 5
LEARNED = "learned"
POLICIES = (*SCORES, "static", "rules", LEARNED)


def load_streams(
    paths: Iterable[Path],
    embedder: Embedder,
    weights: RetrievalSettings,
    *,
    join: bool = False,
    reader: Reader | None = None,
) -> list[Stream]:
    """Read and embed the sets under the paths, a stream each, or one after the other as a single stream.

    With a reader, exact match of its answers is the reward, in place of recall@10. Raises ConfigurationError
    or EmbeddingError.
    """
    sets = [found for path in paths for found in load_retrieval_sets(path)]
    for name, count in Counter(found.name for found in sets).items():
        if count > 1:
            # Figures, training data and joined chunks are told apart by it.
            raise ConfigurationError(
                f"{count} sets are named {name}, after their folders; rename all but one"
            )
    if join:
        sets = [_joined(sets)]
    return [_stream(found, embedder, weights, reader) for found in sets]


def _stream(
    found: RetrievalSet, embedder: Embedder, weights: RetrievalSettings, reader: Reader | None
) -> Stream:
    if reader is not None and not any(question.answer for question in found.questions):
        raise ConfigurationError(f"{found.name}: no question has an answer that a reader's could match")
    vectors = embedder.embed([labelled(document.memory) for document in found.documents])
    asked = embedder.embed([question.text for question in found.questions])
    chunks = tuple(
        Chunk(document.id, document.memory, vector)
        for document, vector in zip(found.documents, vectors, strict=True)
    )
    questions = [
        Asked(question.text, vector, question.evidence, question.answer)
        for question, vector in zip(found.questions, asked, strict=True)
    ]
    return Stream(found.name, chunks, Exam(questions, {c.id: c.memory for c in chunks}, weights, reader))


def _joined(sets: Sequence[RetrievalSet]) -> RetrievalSet:
    documents, questions = [], []
    for found in sets:
        for document in found.documents:
            session = document.memory.session and f"{found.name} {document.memory.session}"
            memory = replace(document.memory, session=session)
            documents.append(replace(document, id=f"{found.name} {document.id}", memory=memory))
        for question in found.questions:
            evidence = frozenset(f"{found.name} {source}" for source in question.evidence)
            questions.append(replace(question, evidence=evidence))
    return RetrievalSet(" + ".join(found.name for found in sets), tuple(documents), tuple(questions))


@dataclass(frozen=True, slots=True)
class PolicyReport:
    """The runs of every policy: one per seed, each over all streams."""

    runs: Mapping[str, Sequence[Sequence[Run]]]
    streams: Sequence[Stream]
    settings: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return per policy recall@10 (0..1), mean and deviation over seeds, and its operations per run.

        With a reader, `exact_match` (0..1) too.
        """
        return {
            "policies": {name: self._figures(seeds) for name, seeds in self.runs.items()},
            "streams": {stream.name: len(stream.chunks) for stream in self.streams},
            "questions": sum(len(stream.exam.questions) for stream in self.streams),
            "settings": self.settings,
        }

    def columns(self) -> list[str]:
        """Return the headings of `rows`."""
        each = (stream.name for stream in self.streams)
        return [
            "policy",
            "recall@10",
            "std",
            *each,
            *(["exact match"] if self._is_read else []),
            "operations",
        ]

    @property
    def _is_read(self) -> bool:
        return any(stream.exam.reader is not None for stream in self.streams)

    def rows(self) -> list[list[str]]:
        """Return a table of text, one row per policy."""
        table = []
        for name, figures in self.to_json()["policies"].items():
            each = [f"{figures['streams'][stream.name]:.3f}" for stream in self.streams]
            done = " ".join(f"{kind} {number:.0f}" for kind, number in figures["operations"].items())
            each += [f"{figures['exact_match']:.3f}"] if self._is_read else []
            table.append([name, f"{figures['recall@10']:.3f}", f"{figures['std']:.3f}", *each, done])
        return table

    def _figures(self, seeds: Sequence[Sequence[Run]]) -> dict[str, Any]:
        numbers = [len(stream.exam.questions) for stream in self.streams]
        means = [_weighted([run.recall for run in runs], numbers) for runs in seeds]
        counts: Counter[str] = Counter()
        for runs in seeds:
            for run in runs:
                counts += run.counts
        known = [sum(bool(asked.answer) for asked in stream.exam.questions) for stream in self.streams]
        matched = (
            [_weighted([run.exact_match or 0.0 for run in runs], known) for runs in seeds]
            if self._is_read
            else []
        )
        return {
            "recall@10": fmean(means),
            "std": pstdev(means),
            **({"exact_match": fmean(matched)} if matched else {}),
            "seeds": len(seeds),
            "streams": {
                stream.name: fmean(runs[place].recall for runs in seeds)
                for place, stream in enumerate(self.streams)
            },
            "operations": {kind: counts[kind] / len(seeds) for kind in sorted(counts)},
        }


def _weighted(values: Sequence[float], numbers: Sequence[int]) -> float:
    return sum(value * number for value, number in zip(values, numbers, strict=True)) / sum(numbers)


def evaluate_policies(
    streams: Sequence[Stream],
    checkpoint: Checkpoint,
    settings: Mapping[str, Any],
    *,
    capacity: float = 0.25,
    policies: Sequence[str] = POLICIES,
    without: Collection[str] = (),
    allow_train_data: bool = False,
    progress: Progress | None = None,
) -> PolicyReport:
    """Run policies over streams, five times where they draw or were trained with seeds; nothing is trained.

    Raises ConfigurationError for a stream with the checkpoint's training data, unless allowed.
    """
    _check(policies, without)
    if LEARNED in policies and not allow_train_data:
        _refuse_training_data(streams, checkpoint)
    made = {name: _makers(name, checkpoint) for name in policies}
    tick = ticker(progress, len(streams) * sum(map(len, made.values())))
    runs: dict[str, list[list[Run]]] = {}
    for name, makers in made.items():
        runs[name] = []
        for make in makers:
            runs[name].append([])
            for stream in streams:
                share = Capacity.share(stream.chunks, capacity)
                runs[name][-1].append(run_policy(make(), stream, share, without))
                tick(f"{name} {stream.name}")
    described = {
        **settings,
        "capacity": capacity,
        "without": sorted(without),
        "checkpoint": checkpoint.version,
    }
    return PolicyReport(runs, streams, described)


def _refuse_training_data(streams: Sequence[Stream], checkpoint: Checkpoint) -> None:
    for stream in streams:
        if known := holds_training_data(checkpoint, stream):
            raise ConfigurationError(
                f"{stream.name} holds the data that the checkpoint was trained on ({known}); "
                "give other data, or add --allow-train-data"
            )


def _check(policies: Sequence[str], without: Collection[str]) -> None:
    for given, known, option in ((policies, POLICIES, "--policies"), (without, PARTS, "--without")):
        for name in given:
            if name not in known:
                raise ConfigurationError(f"{option}: no {name!r}; choose from {', '.join(known)}")


def _makers(name: str, checkpoint: Checkpoint) -> list[Callable[[], Policy]]:
    if name == LEARNED:
        return [lambda place=place: checkpoint.policy(place) for place in range(len(checkpoint.networks))]  # type: ignore[misc]
    if name == "random":
        return [lambda seed=seed: KeepHighest(name, seed) for seed in range(SEEDS)]  # type: ignore[misc]
    if name == "static":
        return [Static]
    return [Rules] if name == "rules" else [lambda: KeepHighest(name)]
