"""The verified signal: one question about the whole list of candidates."""

import pytest

from fluxmem_graph.errors import LLMError
from fluxmem_graph.llm import ScriptedLLM
from fluxmem_graph.retrieval.fusion import Candidate
from fluxmem_graph.retrieval.verify import Verdict, Verdicts, verify

CANDIDATES = [Candidate(f"m{number}", None, f"Fact number {number}.") for number in (1, 2, 3)]


def verdicts(**relevance: int) -> Verdicts:
    return Verdicts(verdicts=[Verdict(number=int(name[1:]), relevance=r) for name, r in relevance.items()])


def test_numbers_become_ids_and_what_is_left_out_has_no_verdict() -> None:
    llm = ScriptedLLM([verdicts(m3=100, m1=25)])
    assert verify(llm, "which fact?", CANDIDATES) == {"m3": 1.0, "m1": 0.25}


def test_a_number_without_a_memory_may_be_repaired_once() -> None:
    llm = ScriptedLLM([verdicts(m4=100), verdicts(m2=100)])
    assert verify(llm, "which fact?", CANDIDATES) == {"m2": 1.0}
    assert "less than or equal to 3" in llm.conversations[1][-1]["content"]
    with pytest.raises(LLMError, match="Verdicts twice"):
        verify(ScriptedLLM([verdicts(m0=100), verdicts(m4=100)]), "which fact?", CANDIDATES)


def test_more_verdicts_than_memories_are_no_answer() -> None:
    many = Verdicts(verdicts=[Verdict(number=1, relevance=100)] * 4)
    with pytest.raises(LLMError, match="at most 3 items"):
        verify(ScriptedLLM([many, many]), "which fact?", CANDIDATES)


def test_nothing_is_asked_about_nothing() -> None:
    assert verify(ScriptedLLM([]), "which fact?", []) == {}
