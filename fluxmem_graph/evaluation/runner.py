"""Runs every system over every set and averages over the questions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.evaluation.datasets import Question, RetrievalSet, load_retrieval_sets
from fluxmem_graph.evaluation.metrics import all_at, percentile, recall_at
from fluxmem_graph.evaluation.systems import Ranking, SystemFactory

DEFAULT_TOP_KS = (5, 10, 20)

Progress = Callable[[str, int, int], None]
"""Called with "SYSTEM SET", questions done and questions in all, over the whole run."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One question's ranking by one system."""

    question: Question
    ranking: Ranking


@dataclass(frozen=True, slots=True)
class RetrievalReport:
    """Every answer of every system, and how it was had."""

    answers: Mapping[str, Sequence[Answer]]
    top_ks: tuple[int, ...]
    questions: int
    missing_evidence: int
    settings: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return the figures per system and category: rates in 0..1, times in milliseconds.

        `query_ms` leaves the embedding of the question out, `query_with_embedding_ms` includes it.
        """
        return {
            "systems": {name: self._system(answers) for name, answers in self.answers.items()},
            "questions": self.questions,
            "missing_evidence": self.missing_evidence,
            "settings": {**self.settings, "top_k": list(self.top_ks)},
        }

    def columns(self) -> list[str]:
        """Return the headings of `rows`."""
        quality = [f"{metric}@{k}" for metric in ("recall", "all") for k in self.top_ks]
        return ["system", "category", "questions", *quality, *_TIMES]

    def rows(self) -> list[list[str]]:
        """Return a table of text: per system a row over all questions, then one per category, if any."""
        columns = self.columns()[3:]
        table = []
        for name, figures in self.to_json()["systems"].items():
            groups = {"all": {**figures, "questions": self.questions}, **figures["categories"]}
            for category, values in groups.items():
                cells = [_cell(column, values[column]) for column in columns]
                table.append([name, category, str(values["questions"]), *cells])
        return table

    def _system(self, answers: Sequence[Answer]) -> dict[str, Any]:
        groups: dict[str, list[Answer]] = {}
        for answer in answers:
            if answer.question.category is not None:
                groups.setdefault(answer.question.category, []).append(answer)
        categories = {
            category: {"questions": len(group), **self._figures(group)}
            for category, group in sorted(groups.items())
        }
        return {**self._figures(answers), "categories": categories}

    def _figures(self, answers: Sequence[Answer]) -> dict[str, float]:
        figures = {}
        for metric, measure in (("recall", recall_at), ("all", all_at)):
            for k in self.top_ks:
                figures[f"{metric}@{k}"] = fmean(
                    measure(answer.ranking.ids, answer.question.evidence, k) for answer in answers
                )
        return figures | _times([answer.ranking for answer in answers])


_TIMES = (
    "query_ms_p50",
    "query_ms_p95",
    "query_with_embedding_ms_p50",
    "query_with_embedding_ms_p95",
)


def _times(rankings: Sequence[Ranking]) -> dict[str, float]:
    bare = [ranking.query_ms for ranking in rankings]
    whole = [ranking.query_ms + ranking.embed_ms for ranking in rankings]
    values = [percentile(times, percent) for times in (bare, whole) for percent in (50, 95)]
    return dict(zip(_TIMES, values, strict=True))


def _cell(column: str, value: float) -> str:
    return f"{value:.1f}" if column in _TIMES else f"{value:.3f}"


def run_retrieval(
    path: Path,
    system_factories: Mapping[str, SystemFactory],
    top_ks: Iterable[int] = DEFAULT_TOP_KS,
    settings: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> RetrievalReport:
    """Ask every question of the sets under `path` of a fresh system per set, and close each system.

    A system is closed after an error or an interrupt too. Raises ConfigurationError and what systems raise.
    """
    wanted = tuple(sorted(set(top_ks)))
    if not wanted or wanted[0] < 1:
        raise ConfigurationError("top_k must name at least one number, each 1 or more")
    if not system_factories:
        raise ConfigurationError("name at least one system to evaluate")
    sets = load_retrieval_sets(path)
    questions = sum(len(found.questions) for found in sets)
    progress_tick = ticker(progress, questions * len(system_factories))
    answers: dict[str, list[Answer]] = {name: [] for name in system_factories}
    # Sets outside, systems inside: systems that share document vectors then hold one corpus at a time.
    for found in sets:
        for name, factory in system_factories.items():
            tick = partial(progress_tick, f"{name} {found.name}")
            answers[name] += _ask_all(found, factory, wanted[-1], tick)
    missing = sum(found.missing_evidence for found in sets)
    return RetrievalReport(answers, wanted, questions, missing, settings or {})


def _ask_all(
    found: RetrievalSet, factory: SystemFactory, top_k: int, tick: Callable[[], None]
) -> list[Answer]:
    answers = []
    with closing(factory()) as system:
        system.index(found.documents)
        for question in found.questions:
            answers.append(Answer(question, system.search(question.text, top_k)))
            tick()
    return answers


def ticker(progress: Progress | None, total: int) -> Callable[[str], None]:
    """Return a function that counts one more question done, and reports it under a label."""
    done = 0

    def tick(label: str) -> None:
        nonlocal done
        done += 1
        if progress is not None:
            progress(label, done, total)

    return tick
