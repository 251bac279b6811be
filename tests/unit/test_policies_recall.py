"""The questions at the end: Stage I's score over a store in memory, and what a merged entry may cover."""

from dataclasses import replace

import numpy as np
import pytest

from fluxmem_graph.operations.rows import searched
from fluxmem_graph.policies.features import Chunk
from fluxmem_graph.policies.memory import Entry, TaskMemory, merged
from fluxmem_graph.policies.recall import Asked, Exam
from fluxmem_graph.retrieval.fusion import Candidate, fuse
from fluxmem_graph.retrieval.inheritance import inherit
from fluxmem_graph.settings import RetrievalSettings
from fluxmem_graph.types import Create, NewMemory, Update
from tests.unit.streams import EMBEDDER, stream


def test_the_scores_are_those_of_stage_one() -> None:
    found = stream()
    memory = TaskMemory(None)
    for chunk in found.chunks:
        memory.apply([Create(chunk.memory)], chunk)
    entries = list(memory.entries.values())
    questions = [*found.exam.questions, asked("What did Ada buy yesterday?")]
    scores = Exam(questions, found.exam.texts).scores(entries)
    for row, question in zip(scores, questions, strict=True):
        assert row == pytest.approx(expected(question, entries), abs=1e-4)


def expected(question: Asked, entries: list[Entry]) -> np.ndarray[tuple[int, ...], np.dtype[np.float64]]:
    weights = RetrievalSettings()
    last: dict[str, list[str]] = {}
    candidates = []
    for entry in entries:
        session = last.setdefault(entry.memory.session or "", [])
        candidates.append(
            Candidate(
                entry.id,
                float(entry.vector @ question.vector),
                searched(entry.memory),
                entry.memory.speaker or "",
                entry.memory.session or "",
                before=tuple(session[-1:-3:-1]),
            )
        )
        session.append(entry.id)
    fused = fuse(question.text, candidates, weights)
    return fused.total + inherit(question.text, fused.total, candidates, weights).total


def asked(text: str, *evidence: str) -> Asked:
    return Asked(text, EMBEDDER.embed([text])[0], frozenset(evidence or {"c2"}))


def chunks(*texts: str) -> list[Chunk]:
    return [
        Chunk(f"c{number}", NewMemory(text), EMBEDDER.embed([text])[0]) for number, text in enumerate(texts)
    ]


def test_a_merged_entry_takes_as_many_places_as_its_sources() -> None:
    first, second, third = found = chunks("Ada likes tea", "Ada likes jam", "Ben likes tea")
    exam = Exam([asked("Ada tea jam", "c0", "c1", "c2")], {chunk.id: chunk.memory for chunk in found})
    memory = TaskMemory(None)
    memory.apply([Create(first.memory)], first)
    memory.apply([Update("m1", merged(first.memory, second.memory))], second)
    memory.apply([Create(third.memory)], third)
    entries = list(memory.entries.values())
    assert [exam.recall(entries, top_k) for top_k in (1, 2, 3)] == pytest.approx([1 / 3, 2 / 3, 1])


def test_an_entry_covers_a_source_only_while_it_contains_its_text() -> None:
    first, second = found = chunks("Ada likes tea", "Ada likes jam")
    exam = Exam([asked("Ada", "c0", "c1")], {chunk.id: chunk.memory for chunk in found})
    memory = TaskMemory(None)
    memory.apply([Create(first.memory)], first)
    memory.apply([Update("m1", "Ada likes jam")], second)
    assert exam.recall(list(memory.entries.values())) == pytest.approx(1 / 2)
    memory.apply([Update("m1", "Ada likes things")], second)
    assert exam.recall(list(memory.entries.values())) == 0


def test_an_empty_store_recalls_nothing() -> None:
    assert stream().exam.recall([]) == 0


def test_a_question_that_names_a_title_finds_its_passage() -> None:
    passages = [
        replace(chunk, memory=NewMemory("It is large.", title=title))
        for chunk, title in zip(chunks("a", "b"), ("Lake Garda", "Mount Etna"), strict=True)
    ]
    exam = Exam([asked("How large is Mount Etna?")], {chunk.id: chunk.memory for chunk in passages})
    entries = [Entry(c.id, c.memory, c.vector, (c.id,), 0, 1) for c in passages]
    [scores] = exam.scores(entries)
    assert scores[1] > scores[0] + 0.4
