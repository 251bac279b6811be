"""Does memory get better because it is used? One pass over the questions, with feedback after each.

Feedback is a flag and the answer, given only once its question was scored. Every question is also asked of
the memory before anything was learned ("frozen"), and after the pass again in its content words alone.
"""

import random
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import fmean, median
from typing import Any

from fluxmem_graph.evaluation.datasets import Question, load_retrieval_sets
from fluxmem_graph.evaluation.fluxmem_system import FluxMemSystem
from fluxmem_graph.evaluation.metrics import recall_at
from fluxmem_graph.evaluation.runner import Progress, ticker
from fluxmem_graph.evaluation.users import TOP_K, Feedback, Misled, feedback_on, places
from fluxmem_graph.protocols import Embedder
from fluxmem_graph.retrieval.sparse import content_words
from fluxmem_graph.settings import Settings
from fluxmem_graph.types import Hit

BINS = 10


@dataclass(frozen=True, slots=True)
class Asked:
    """Recall@10 of one question: in the pass and frozen; reworded after the pass and frozen.

    `seen`: an earlier question touched some of its evidence. `position` is its place in the pass, 0..1. Times
    are those of asking and of the feedback, with their embeddings.
    """

    seen: bool
    position: float
    learning: float
    frozen: float
    second_learning: float
    second_frozen: float
    activate_ms: float
    feedback_ms: float


@dataclass(frozen=True, slots=True)
class Lesson:
    """One question of the pass: its recall@10 and the times of asking and of the feedback."""

    recall: float
    activate_ms: float
    feedback_ms: float


@dataclass(frozen=True, slots=True)
class LearningReport:
    """Every question's figures, and how they were had."""

    asked: Sequence[Asked]
    settings: Mapping[str, Any]

    def to_json(self) -> dict[str, Any]:
        """Return mean recall@10 (0..1) with learning and frozen, per group and along the pass."""
        seen = [asked for asked in self.asked if asked.seen]
        unseen = [asked for asked in self.asked if not asked.seen]
        return {
            "seen": {**_means(seen), "questions": len(seen)},
            "unseen": {**_means(unseen), "questions": len(unseen)},
            "second_pass": {
                "learning": fmean(asked.second_learning for asked in self.asked),
                "frozen": fmean(asked.second_frozen for asked in self.asked),
                "questions": len(self.asked),
            },
            "curve": self._curve(),
            "settings": self.settings,
        }

    def feedback_cost(self) -> float:
        """Return the median time of a feedback over that of asking; no part of the JSON, which repeats."""
        asking = median(asked.activate_ms for asked in self.asked)
        return median(asked.feedback_ms for asked in self.asked) / asking

    def _curve(self) -> list[dict[str, float]]:
        points = []
        for number in range(BINS):
            inside = [asked for asked in self.asked if int(asked.position * BINS) == number]
            if inside:
                points.append({"share": (number + 1) / BINS, **_means(inside)})
        return points

    def columns(self) -> list[str]:
        """Return the headings of `rows`."""
        return ["questions", "number", "frozen", "learning", "gain"]

    def rows(self) -> list[list[str]]:
        """Return a table of text, one row per group."""
        figures = self.to_json()
        table = []
        for name in ("seen", "unseen", "second_pass"):
            frozen, learning = figures[name]["frozen"], figures[name]["learning"]
            number = str(figures[name]["questions"])
            table.append([name, number, f"{frozen:.3f}", f"{learning:.3f}", f"{learning - frozen:+.3f}"])
        return table


def run_learning(
    path: Path,
    settings: Settings,
    embedder: Embedder,
    described: Mapping[str, Any],
    *,
    shuffle: int | None = None,
    wrong: float = 0.0,
    progress: Progress | None = None,
) -> LearningReport:
    """Learn from one pass over each set under `path`: in file order, or shuffled with a seed.

    `wrong` is the share of feedback that is false. Raises ConfigurationError and what `FluxMem` raises;
    namespaces are erased after an error too.
    """
    sets = load_retrieval_sets(path)
    # Frozen, learning, and the second pass.
    tick = ticker(progress, 3 * sum(len(found.questions) for found in sets))
    asked: list[Asked] = []
    for found in sets:
        questions = list(found.questions)
        if shuffle is not None:
            random.Random(f"{shuffle} {found.name}").shuffle(questions)
        with closing(FluxMemSystem(settings, embedder)) as system:
            system.index(found.documents)
            misled = Misled(found, wrong, shuffle or 0)
            asked += _one_pass(system, questions, misled, partial(tick, found.name))
    return LearningReport(asked, described)


def _one_pass(
    system: FluxMemSystem,
    questions: Sequence[Question],
    misled: Callable[[Feedback], Feedback],
    tick: Callable[[], None],
) -> list[Asked]:
    def recall(question: Question, text: str) -> float:
        return _recall(system, question, system.memory.search(text, top_k=TOP_K))

    frozen = []
    for question in questions:
        frozen.append((recall(question, question.text), recall(question, reworded(question))))
        tick()
    learned, seen, touched = [], [], set[str]()
    for question in questions:
        seen.append(not touched.isdisjoint(question.evidence))
        touched |= question.evidence
        learned.append(learn_from(system, question, misled))
        tick()
    asked = []
    for place, question in enumerate(questions):
        second = recall(question, reworded(question))
        position = place / len(questions)
        lesson = learned[place]
        asked.append(
            Asked(
                seen[place],
                position,
                lesson.recall,
                frozen[place][0],
                second,
                frozen[place][1],
                lesson.activate_ms,
                lesson.feedback_ms,
            )
        )
        tick()
    return asked


def learn_from(system: FluxMemSystem, question: Question, misled: Callable[[Feedback], Feedback]) -> Lesson:
    """Ask, score, and only then say how it went."""
    memory = system.memory
    started = time.perf_counter()
    facts = memory.search(question.text, top_k=TOP_K)
    activate_ms = (time.perf_counter() - started) * 1000
    said = misled(feedback_on(question, places(memory, facts)))
    episode_id = memory.start_episode(question.text)
    memory.step(episode_id, question.text, activated=facts)
    started = time.perf_counter()
    memory.feedback(episode_id, said.success, said.correction)
    feedback_ms = (time.perf_counter() - started) * 1000
    memory.end_episode(episode_id, said.success)
    return Lesson(_recall(system, question, facts), activate_ms, feedback_ms)


def _recall(system: FluxMemSystem, question: Question, facts: Sequence[Hit]) -> float:
    return recall_at(places(system.memory, facts), question.evidence, TOP_K)


def reworded(question: Question) -> str:
    """Return the question's content words: a rewording that adds nothing."""
    return " ".join(content_words(question.text)) or question.text


def _means(group: Sequence[Asked]) -> dict[str, float]:
    return {
        "learning": fmean([asked.learning for asked in group] or [0.0]),
        "frozen": fmean([asked.frozen for asked in group] or [0.0]),
    }
