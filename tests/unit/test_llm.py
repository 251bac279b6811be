"""Structured answers from language models."""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, SecretStr

from fluxmem_graph.errors import ConfigurationError, LLMError
from fluxmem_graph.llm import OpenAILLM, ScriptedLLM, load_llm
from fluxmem_graph.llm.structured import BrokenAnswer, parse_answer
from fluxmem_graph.policies.language import Operations
from fluxmem_graph.settings import load_settings


class Verdict(StrEnum):
    KEEP = "keep"
    DROP = "drop"


class Score(BaseModel):
    score: float


class Note(BaseModel):
    text: str
    verdict: Verdict = Verdict.KEEP


@pytest.mark.parametrize(
    "words",
    [
        '{"score": 0.9}',
        'Sure! Here it is:\n```json\n{"score": 0.9}\n```\nAnything else?',
        'As [1] says, {placeholders} aside [sic]: {"score": 0.9}',
        '{"other": 1} {"score": 0.9}',
        '{"score": 0.9} and again {"score": 0.9}',
        '[0.1, 0.2] {"score": 0.9}',
    ],
)
def test_one_answer_among_prose_is_found(words: str) -> None:
    assert parse_answer(words, Score) == Score(score=0.9)


@pytest.mark.parametrize(
    "words",
    [
        "",
        "Score (0.0-1.0): 0.9",
        "0.9",
        '[{"score": 0.9}]',
        '{"score": "0.9"}',
        '{"score": true}',
        '{"score": null}',
        '{"score": NaN}',
        '{"score": 0.1} or rather {"score": 0.9}',
        '{"score": 0.1, "score": 0.9}',
        '{"score": 0.9',
        '{"answer": {"score": 0.9}, "why": "C:\\path"}',
        '{"answer": {"score": 0.9}, "why": ',
        "{'why': 'x', 'answer': {\"score\": 0.9}}",
        '{why: "x", answer: {"score": 0.9}}',
        '{,{"score": 0.9}}',
        '[{"score": 0.9}, {"score": ',
        '{"wrapped": {"score": 0.9}}',
        "[" * 100_000,
        '{"a":' * 100_000,
    ],
)
def test_anything_doubtful_is_no_answer_rather_than_a_wrong_number(words: str) -> None:
    with pytest.raises(BrokenAnswer):
        parse_answer(words, Score)


def test_line_breaks_in_strings_and_enums_are_read() -> None:
    note = parse_answer('{"text": "one\ntwo", "verdict": "drop"}', Note)
    assert note == Note(text="one\ntwo", verdict=Verdict.DROP)


prose = st.text(st.characters(exclude_characters="{}[]"))


@given(prose, st.floats(allow_nan=False, allow_infinity=False), prose)
def test_a_number_is_only_ever_the_one_in_the_answer(before: str, score: float, after: str) -> None:
    words = before + json.dumps({"score": score}) + after
    assert parse_answer(words, Score).score == score


@given(st.text(st.sampled_from('{}[]",:\\ 01.truescore')))
def test_any_words_are_an_answer_or_a_broken_answer(words: str) -> None:
    with suppress(BrokenAnswer):
        assert isinstance(parse_answer(words, Score), Score)


def test_the_repair_turn_says_what_was_wrong() -> None:
    llm = ScriptedLLM(['{"score": "high"}', '{"score": 0.9}'])
    assert llm.ask("system", "user", Score) == Score(score=0.9)
    *_, broken, complaint = llm.conversations[1]
    assert broken == {"role": "assistant", "content": '{"score": "high"}'}
    assert "score: Input should be a valid number" in complaint["content"]
    assert llm.usage["calls"] == 2


def test_two_broken_answers_are_an_error() -> None:
    llm = ScriptedLLM(["Score (0.0-1.0): 0.9", "[]", '{"score": 0.9}'])
    with pytest.raises(LLMError, match="Score twice"):
        llm.ask("system", "user", Score)


def test_a_script_gives_models_raises_exceptions_and_ends() -> None:
    llm = ScriptedLLM([Score(score=0.5), LLMError("down")])
    assert llm.ask("s", "u", Score) == Score(score=0.5)
    with pytest.raises(LLMError, match="down"):
        llm.ask("s", "u", Score)
    with pytest.raises(LLMError, match="only 2 answers"):
        llm.ask("s", "u", Score)


Handle = Callable[[dict[str, Any]], tuple[int, dict[str, Any]]]
Serve = Callable[[Handle], str]


def completion(content: str) -> dict[str, Any]:
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": "m",
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": content}}
        ],
        "usage": {"prompt_tokens": 10, "completion_tokens": 3, "total_tokens": 13},
    }


def test_the_schema_is_sent_strict_and_usage_is_counted_over_threads(serve: Serve) -> None:
    bodies: list[dict[str, Any]] = []

    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        bodies.append(body)
        return 200, completion('{"score": 0.9}')

    url = serve(handle)
    llm = OpenAILLM("m", base_url=url)
    threads = [threading.Thread(target=llm.ask, args=("s", "u", Score)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert llm.usage == {"calls": 8, "prompt_tokens": 80, "completion_tokens": 24}
    schema = bodies[0]["response_format"]["json_schema"]
    assert schema["strict"] is True
    assert schema["schema"]["required"] == ["score"]
    assert schema["schema"]["additionalProperties"] is False
    assert llm.name == "m"


def test_an_endpoint_that_refuses_bounds_gets_the_schema_without_them(serve: Serve) -> None:
    bounds = {"minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "oneOf", "default"}

    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        sent = json.dumps(body["response_format"])
        if refused := [name for name in bounds if f'"{name}"' in sent]:
            return 400, {"error": {"message": f"'{refused[0]}' is not permitted"}}
        return 200, completion('{"operations": [], "grade": 0.9}')

    class Graded(Operations):
        grade: float = Field(ge=0, le=1)

    llm = OpenAILLM("m", base_url=serve(handle))
    assert llm.ask("s", "u", Graded).grade == 0.9
    assert llm.response_format == "json_schema without bounds"


@pytest.mark.parametrize("accepted", ["json_object", "text"])
def test_an_endpoint_that_takes_no_schema_is_remembered(accepted: str, serve: Serve) -> None:
    asked: list[str] = []

    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        style = body.get("response_format", {}).get("type", "text")
        asked.append(style)
        if style not in ("text", accepted):
            return 400, {"error": {"message": f"{style} is not supported"}}
        assert "JSON Schema" in body["messages"][0]["content"]
        return 200, completion('{"score": 0.9}')

    url = serve(handle)
    llm = OpenAILLM("m", base_url=url)
    assert llm.response_format == "json_schema"
    llm.ask("s", "u", Score)
    llm.ask("s", "u", Score)
    assert llm.response_format == accepted
    assert asked.count("json_schema") == 2
    assert asked[-1] == accepted


def test_a_refusal_of_the_request_itself_weakens_nothing(serve: Serve) -> None:
    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return 400, {"error": {"message": "context is too long"}}

    url = serve(handle)
    llm = OpenAILLM("m", base_url=url)
    with pytest.raises(LLMError, match="too long"):
        llm.ask("s", "u", Score)
    assert llm.response_format == "json_schema"


@pytest.mark.parametrize("status", [401, 404, 400])
def test_an_error_never_shows_the_key(status: int, serve: Serve) -> None:
    key = "sk-very-secret-key"

    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        return status, {"error": {"message": f"bad: {key}"}}

    url = serve(handle)
    llm = OpenAILLM("m", base_url=url, api_key=SecretStr(key))
    with pytest.raises(LLMError) as caught:
        llm.ask("s", "u", Score)
    assert key not in str(caught.value)
    assert key not in repr(vars(llm))


def test_no_server_and_a_slow_server_are_llm_errors(serve: Serve) -> None:
    with pytest.raises(LLMError, match="OPENAI_BASE_URL"):
        OpenAILLM("m", base_url="http://127.0.0.1:9/v1").ask("s", "u", Score)
    release = threading.Event()

    def handle(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        release.wait(20)
        return 200, completion("{}")

    url = serve(handle)
    try:
        with pytest.raises(LLMError, match="no answer within"):
            OpenAILLM("m", base_url=url, timeout_s=0.1).ask("s", "u", Score)
    finally:
        release.set()


def test_a_busy_endpoint_is_asked_again_and_a_slow_one_is_not(serve: Serve) -> None:
    asked: list[float] = []

    def busy(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked.append(time.monotonic())
        return (
            (503, {"error": {"message": "busy"}}) if len(asked) < 3 else (200, completion('{"score": 0.9}'))
        )

    assert OpenAILLM("m", base_url=serve(busy)).ask("s", "u", Score).score == 0.9
    assert len(asked) == 3
    asked.clear()

    def slow(body: dict[str, Any]) -> tuple[int, dict[str, Any]]:
        asked.append(time.monotonic())
        time.sleep(0.5)
        return 200, completion("{}")

    with pytest.raises(LLMError, match="no answer within"):
        OpenAILLM("m", base_url=serve(slow), timeout_s=0.1).ask("s", "u", Score)
    assert len(asked) == 1


def test_settings_choose_the_model() -> None:
    assert load_llm(load_settings(llm_model=None)) is None
    with pytest.raises(ConfigurationError, match="OPENAI_API_KEY"):
        load_llm(load_settings(llm_model="m"))
    llm = load_llm(load_settings(llm_model="m", openai_base_url="http://127.0.0.1:9/v1"))
    assert llm is not None
    assert llm.name == "m"
