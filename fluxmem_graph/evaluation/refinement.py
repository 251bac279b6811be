"""Does refinement repair what the first look missed? Against baselines with as many looks of ten.

Each question is on its own: what one episode taught is not used for another, so round 0 is Stage I alone.
"""

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from fluxmem_graph.evaluation.datasets import Question, load_retrieval_sets
from fluxmem_graph.evaluation.fluxmem_system import FluxMemSystem
from fluxmem_graph.evaluation.runner import Progress, ticker
from fluxmem_graph.evaluation.systems import System, baseline_factories
from fluxmem_graph.evaluation.users import TOP_K, feedback_on, places
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.retrieval.context import Context
from fluxmem_graph.settings import Settings
from fluxmem_graph.types import Layer, Outcome

MAX_ROUNDS = 5
ALONE = {"support": 0.0, "topic": 0.0}
NO_BUDGET = 2**31

Looks = Sequence[bool]
"""Whether each look of ten held all of the evidence; looks after the first success are left out."""


@dataclass(frozen=True, slots=True)
class RefinementReport:
    """Every question's looks per system, and how they were had."""

    looks: Mapping[str, Sequence[Looks]]
    usage: Mapping[str, int]
    settings: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return cumulative success shares after rounds 0..5 (0..1), and the share of failures repaired."""
        shares = {name: cumulative(looks) for name, looks in self.looks.items()}
        repaired = {
            f"{name}_repaired": (rounds[-1] - rounds[0]) / (1 - rounds[0]) if rounds[0] < 1 else 1.0
            for name, rounds in shares.items()
        }
        questions = len(next(iter(self.looks.values())))
        return {**shares, **repaired, "questions": questions, "llm": self.usage, "settings": self.settings}

    def columns(self) -> list[str]:
        """Return the headings of `rows`."""
        return ["system", *(f"round {number}" for number in range(MAX_ROUNDS + 1)), "repaired"]

    def rows(self) -> list[list[str]]:
        """Return a table of text, one row per system."""
        figures = self.to_json()
        return [
            [name, *(f"{share:.3f}" for share in figures[name]), f"{figures[f'{name}_repaired']:.3f}"]
            for name in self.looks
        ]


def cumulative(looks: Sequence[Looks]) -> list[float]:
    """Return the share of questions solved by round 0, 1, ... 5."""
    return [fmean(any(own[: number + 1]) for own in looks) for number in range(MAX_ROUNDS + 1)]


def run_refinement(
    path: Path,
    settings: Settings,
    embedder: Embedder,
    described: Mapping[str, Any],
    progress: Progress | None = None,
) -> RefinementReport:
    """Refine every question of the sets under `path`, and page the baselines as often.

    Raises ConfigurationError and what `FluxMem` raises; namespaces are erased after an error too.
    """
    sets = load_retrieval_sets(path)
    alone = settings.model_copy(update={"retrieval": settings.retrieval.model_copy(update=ALONE)})
    looks: dict[str, list[Looks]] = {"rounds": [], "paging": [], "requery": []}
    usage: dict[str, int] = {}
    tick = ticker(progress, sum(len(found.questions) for found in sets))
    for found in sets:
        with closing(baseline_factories(embedder)["hybrid"]()) as hybrid:
            hybrid.index(found.documents)
            for question in found.questions:
                for name, own in _paged(hybrid, question).items():
                    looks[name].append(own)
        with closing(FluxMemSystem(alone, embedder)) as system:
            system.index(found.documents)
            for question in found.questions:
                looks["rounds"].append(_refined(system, question))
                tick(found.name)
            for name, count in (system.memory.llm.usage if system.memory.llm else {}).items():
                usage[name] = usage.get(name, 0) + count
    return RefinementReport(looks, usage, described)


def _refined(system: FluxMemSystem, question: Question) -> Looks:
    def execute(context: Context) -> Outcome:
        facts = [hit for hit in context.hits if hit.layer is Layer.SEMANTIC]
        said = feedback_on(question, places(system.memory, facts))
        return Outcome(said.success, said.correction)

    refined = system.memory.refine(
        question.text, execute, max_rounds=MAX_ROUNDS, top_k=TOP_K, budget=NO_BUDGET
    )
    return [step.refinement.success == 1.0 for step in refined.rounds]


def _paged(hybrid: System, question: Question) -> dict[str, Looks]:
    ranking = hybrid.search(question.text, TOP_K * (MAX_ROUNDS + 1)).ids
    again = hybrid.search(f"{question.text} {question.answer}", TOP_K * MAX_ROUNDS).ids
    first = _pages(ranking)[:1]
    return {
        name: [feedback_on(question, page).success == 1.0 for page in pages]
        for name, pages in (("paging", _pages(ranking)), ("requery", first + _pages(again)))
    }


def _pages(ranking: Sequence[str]) -> list[Sequence[str]]:
    return [ranking[start : start + TOP_K] for start in range(0, len(ranking), TOP_K)]
