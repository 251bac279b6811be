"""From a model's words to a validated answer: find the JSON, check it, ask once for a repair."""

import json
from collections.abc import Callable
from typing import Any

from pydantic import BaseModel, ValidationError

from fluxmem_graph.errors import FluxMemError, LLMError
from fluxmem_graph.protocols import LLM, ModelT

Messages = list[dict[str, str]]

_LONGEST_REASON = 120
_CLOSING = {"{": "}", "[": "]"}


class BrokenAnswer(ValueError):
    """The words hold no answer that meets the schema, or more than one; the message tells the model why."""


def instead_of(path: str, llm: LLM, error: FluxMemError) -> str:
    """Return the name of the path that was taken since a model failed, with the reason on one line."""
    reason = " ".join(str(error).split())
    if len(reason) > _LONGEST_REASON:
        reason = f"{reason[: _LONGEST_REASON - 1]}…"
    return f"{path} ({llm.name} failed: {reason})"


def ask_structured(
    complete: Callable[[Messages], str], system: str, user: str, schema: type[ModelT]
) -> ModelT:
    """Return the answer as an instance of `schema`, after at most one repair turn. Raises LLMError."""
    messages: Messages = [{"role": "system", "content": system}, {"role": "user", "content": user}]
    words = complete(messages)
    try:
        return parse_answer(words, schema)
    except BrokenAnswer as broken:
        messages += [
            {"role": "assistant", "content": words},
            {
                "role": "user",
                "content": f"That answer can't be used: {broken}. Send only the corrected JSON.",
            },
        ]
    words = complete(messages)
    try:
        return parse_answer(words, schema)
    except BrokenAnswer as broken:
        raise LLMError(f"the answer broke the schema {schema.__name__} twice: {broken}") from broken


def parse_answer(words: str, schema: type[ModelT]) -> ModelT:
    """Return the one JSON value in the words that meets `schema`.

    Prose and code fences around it are passed over. Numbers are only taken from inside such a value, and
    two different values that both meet the schema are no answer. Raises BrokenAnswer.
    """
    answers: list[ModelT] = []
    problem = "it holds no JSON object"
    for value in json_values(words):
        try:
            # Strict, or `true` would become 1.0; as JSON, so that enums and dates are still read from text.
            answer = schema.model_validate_json(json.dumps(value), strict=True)
        except ValidationError as error:
            problem = _describe(error)
        else:
            if answer not in answers:
                answers.append(answer)
    if len(answers) > 1:
        raise BrokenAnswer("it holds several different answers")
    if not answers:
        raise BrokenAnswer(problem)
    return answers[0]


def json_values(words: str) -> list[Any]:
    """Return the outermost JSON objects and arrays in the words, in order.

    Raises BrokenAnswer at JSON that breaks off or breaks its syntax: what is nested in it is no answer.
    """
    values: list[Any] = []
    place = 0
    while (place := _next_opening(words, place)) < len(words):
        try:
            value, place = _DECODER.raw_decode(words, place)
            values.append(value)
        except RecursionError:
            raise BrokenAnswer("its JSON is nested too deeply") from None
        except ValueError as error:
            place = _after_prose(words, place, error)
    return values


def _unique_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = dict(pairs)
    if len(keys) < len(pairs):
        raise BrokenAnswer("a key occurs twice in one JSON object")
    return keys


def _no_constant(name: str) -> Any:
    raise BrokenAnswer(f"{name} is not JSON")


# Not strict about control characters: models put raw line breaks into strings, and the meaning is clear.
_DECODER = json.JSONDecoder(strict=False, object_pairs_hook=_unique_keys, parse_constant=_no_constant)


def _next_opening(words: str, place: int) -> int:
    found = [at for bracket in _CLOSING if (at := words.find(bracket, place)) >= 0]
    return min(found, default=len(words))


def _after_prose(words: str, place: int, error: ValueError) -> int:
    """Return where to read on after a bracket of prose, such as `[sic]` or `{placeholders}`."""
    opening = words[place]
    inside = words[place + 1 :].lstrip()[:1]
    if isinstance(error, BrokenAnswer) or inside in (("{", "[", '"') if opening == "[" else ('"', "'", "")):
        raise BrokenAnswer(f"its JSON is broken ({error})") from error
    depth = 0
    for at in range(place, len(words)):
        depth += (words[at] == opening) - (words[at] == _CLOSING[opening])
        if depth == 0:
            return at + 1
    raise BrokenAnswer(f"its JSON is broken ({error})") from error


def _describe(error: ValidationError) -> str:
    problems = [
        f"{'.'.join(str(part) for part in detail['loc']) or 'the value'}: {detail['msg']}"
        for detail in error.errors(include_url=False, include_input=False)
    ]
    return "; ".join(problems[:5])


def schema_text(schema: type[BaseModel]) -> str:
    """Return the instruction that replaces a schema where the endpoint takes none."""
    return "Answer with one JSON object and nothing else. It must meet this JSON Schema: " + json.dumps(
        schema.model_json_schema(), ensure_ascii=False
    )
