"""A model that reads: its exact answers are the reward where one is set."""

from dataclasses import replace

import pytest

from fluxmem_graph.errors import LLMError
from fluxmem_graph.evaluation.policies import evaluate_policies
from fluxmem_graph.llm import ScriptedLLM
from fluxmem_graph.policies.baselines import KeepHighest
from fluxmem_graph.policies.checkpoint import load_checkpoint
from fluxmem_graph.policies.memory import Capacity
from fluxmem_graph.policies.policy import Stream, run_policy
from fluxmem_graph.policies.reading import Answer, LLMReader, is_exact
from fluxmem_graph.policies.recall import Reader
from fluxmem_graph.policies.rollouts import roll_out
from tests.unit.streams import stream

WIDE = Capacity(99, 10_000)


def read_stream(reader: Reader, *answers: str) -> Stream:
    """A stream with a question for each answer; an empty answer is unknown."""
    found = stream(len(answers))
    pairs = zip(found.exam.questions, answers, strict=True)
    asked = [replace(question, answer=answer) for question, answer in pairs]
    return replace(found, exam=replace(found.exam, questions=asked, reader=reader))


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("The red Bicycle.", "red bicycle", True),
        ("an  \u201cA4\u201d", "a \u201ca4\u201d", True),
        ("7 May, 2023", "7 may 2023", True),
        ("theatre", "atre", False),
        ("blue", "red bicycle", False),
    ],
)
def test_an_answer_is_compared_but_for_case_punctuation_articles_and_spaces(
    answer: str, gold: str, same: bool
) -> None:
    assert is_exact(answer, gold) == same


def test_exact_match_is_the_reward_where_a_model_reads() -> None:
    llm = ScriptedLLM([Answer(answer="The Bicycle."), Answer(answer="a violin")])
    run = run_policy(KeepHighest("recency"), read_stream(LLMReader(llm), "bicycle", "", "telescope"), WIDE)
    assert (run.exact_match, run.reward, run.recall) == (0.5, 0.5, 1.0)
    assert run_policy(KeepHighest("recency"), stream(3), WIDE).reward == 1.0


def test_the_model_sees_the_question_and_what_comes_back_in_ten_places_and_no_more() -> None:
    llm = ScriptedLLM([Answer(answer="")] * 4)
    run_policy(KeepHighest("recency"), read_stream(LLMReader(llm), *["x"] * 4), WIDE)
    told = llm.conversations[0][1]["content"]
    assert told.count("<memory>") == 10
    assert "I bought a bicycle in 1910 yesterday." in told
    assert told.endswith("<question>When was the bicycle bought, 1910?</question>")


def test_nothing_is_held_and_the_model_is_asked_all_the_same() -> None:
    llm = ScriptedLLM([Answer(answer="none")])
    run = run_policy(KeepHighest("recency"), read_stream(LLMReader(llm), "none"), WIDE, without=("store",))
    assert (run.exact_match, run.recall) == (1.0, 0.0)


def test_a_model_that_gives_no_answer_twice_is_wrong_and_one_that_is_away_ends_the_run() -> None:
    broken = read_stream(LLMReader(ScriptedLLM(["no", "no"])), "bicycle")
    assert run_policy(KeepHighest("recency"), broken, WIDE).exact_match == 0
    away = read_stream(LLMReader(ScriptedLLM([LLMError("gone")])), "bicycle")
    with pytest.raises(LLMError, match="gone"):
        run_policy(KeepHighest("recency"), away, WIDE)


def test_an_exported_run_has_the_exact_match_as_its_reward() -> None:
    found = read_stream(lambda question, texts: "bicycle", "bicycle", "piano")
    assert roll_out(KeepHighest("recency"), found, WIDE).reward == 0.5


def test_the_report_tells_of_exact_match() -> None:
    found = read_stream(lambda question, texts: "bicycle", "bicycle", "piano")
    report = evaluate_policies([found], load_checkpoint(), {}, policies=["static"], capacity=1)
    assert report.to_json()["policies"]["static"]["exact_match"] == 0.5
    assert report.columns()[-2] == "exact match" and report.rows()[0][-2] == "0.500"
    unread = evaluate_policies([stream(2)], load_checkpoint(), {}, policies=["static"])
    assert "exact match" not in unread.columns()
