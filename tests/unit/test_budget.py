"""Budgets stop a run before it overspends, and say what to raise."""

from collections.abc import Callable
from typing import Any

import pytest
from pydantic import BaseModel

from fluxmem_graph.errors import BudgetExceeded, LLMError
from fluxmem_graph.llm import OpenAILLM, load_llm
from fluxmem_graph.llm.budget import Budget
from fluxmem_graph.settings import load_settings

Serve = Callable[[Callable[[Any], tuple[int, Any]]], str]


class Answer(BaseModel):
    """What the endpoint answers."""

    value: int


def answering(words: str, asked: list[Any]) -> Callable[[Any], tuple[int, Any]]:
    def handle(body: Any) -> tuple[int, Any]:
        asked.append(body)
        message = {"role": "assistant", "content": words}
        usage = {"prompt_tokens": 40, "completion_tokens": 10, "total_tokens": 50}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return 200, {
            "id": "1",
            "object": "chat.completion",
            "created": 0,
            "model": "m",
            "choices": [choice],
            "usage": usage,
        }

    return handle


def test_the_call_after_the_last_allowed_one_is_never_sent(serve: Serve) -> None:
    asked: list[Any] = []
    llm = OpenAILLM("m", base_url=serve(answering('{"value": 1}', asked)), budget=Budget(max_calls=2))
    llm.ask("s", "u", Answer)
    llm.ask("s", "u", Answer)
    with pytest.raises(BudgetExceeded, match="2 LLM calls is used up; raise max_llm_calls"):
        llm.ask("s", "u", Answer)
    assert len(asked) == llm.usage["calls"] == 2


def test_a_repair_turn_is_a_call_too(serve: Serve) -> None:
    asked: list[Any] = []
    llm = OpenAILLM("m", base_url=serve(answering("no json", asked)), budget=Budget(max_calls=1))
    with pytest.raises(BudgetExceeded):
        llm.ask("s", "u", Answer)
    assert len(asked) == 1


def test_an_answer_may_use_only_what_is_left(serve: Serve) -> None:
    asked: list[Any] = []
    llm = OpenAILLM("m", base_url=serve(answering('{"value": 1}', asked)), budget=Budget(max_tokens=200))
    while True:
        try:
            llm.ask("s", "u", Answer)
        except BudgetExceeded as error:
            assert "raise max_llm_tokens" in str(error)
            break
    limits = [body["max_tokens"] for body in asked]
    assert limits == sorted(limits, reverse=True)
    assert llm.usage["prompt_tokens"] + llm.usage["completion_tokens"] <= 200
    assert all(0 < limit < 200 for limit in limits)


def test_without_a_budget_no_limit_is_sent(serve: Serve) -> None:
    asked: list[Any] = []
    OpenAILLM("m", base_url=serve(answering('{"value": 1}', asked))).ask("s", "u", Answer)
    assert "max_tokens" not in asked[0]


def test_the_settings_set_it(serve: Serve) -> None:
    settings = load_settings(llm_model="m", openai_base_url=serve(answering("{}", [])), max_llm_calls=0)
    llm = load_llm(settings)
    assert llm
    with pytest.raises(BudgetExceeded):
        llm.ask("s", "u", Answer)


def test_a_spent_budget_is_no_failed_answer() -> None:
    # What takes a failed call for a missing signal must not take this for one.
    assert not issubclass(BudgetExceeded, LLMError)
