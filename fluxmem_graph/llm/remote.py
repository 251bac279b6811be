"""A language model behind an OpenAI-compatible endpoint."""

import threading
from functools import cached_property
from typing import Any

from pydantic import BaseModel, SecretStr

from fluxmem_graph.errors import LLMError
from fluxmem_graph.llm.budget import Budget
from fluxmem_graph.llm.structured import Messages, ask_structured, schema_text
from fluxmem_graph.protocols import ModelT

RETRIES = 2
BOUNDED, PLAIN = "json_schema", "json_schema without bounds"
FORMATS = (BOUNDED, PLAIN, "json_object", "text")
# What strict endpoints refuse in a schema; answers are checked against it here in any case.
_REFUSED = {
    *("minLength", "maxLength", "minItems", "maxItems", "minimum", "maximum", "default", "discriminator"),
}


class OpenAILLM:
    """Asks for answers under a JSON schema, or in a weaker format where the endpoint refuses that."""

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: SecretStr | None = None,
        timeout_s: float = 60,
        budget: Budget | None = None,
    ) -> None:
        self._model = model
        self._base_url = base_url
        # Endpoints of one's own often want no key, but the client refuses to start without one.
        self._api_key = api_key or SecretStr("unused")
        self._timeout_s = timeout_s
        self._budget = budget or Budget()
        self._format = 0
        self._usage = {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0}
        self._counting = threading.Lock()

    @property
    def name(self) -> str:
        """The model's name."""
        return self._model

    @property
    def usage(self) -> dict[str, int]:
        """Totals since creation: `calls` (refused ones too), `prompt_tokens`, `completion_tokens`."""
        with self._counting:
            return dict(self._usage)

    @property
    def response_format(self) -> str:
        """The strictest of FORMATS that the endpoint has accepted."""
        return FORMATS[self._format]

    def ask(self, system: str, user: str, schema: type[ModelT]) -> ModelT:
        """Return an instance of `schema`; one repair turn, then LLMError."""
        return ask_structured(lambda messages: self._complete(messages, schema), system, user, schema)

    def _complete(self, messages: Messages, schema: type[BaseModel]) -> str:
        import openai

        refusal: Exception | None = None
        for place in range(self._format, len(FORMATS)):
            try:
                words = self._request(messages, schema, FORMATS[place])
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                # The wording of such a refusal differs by server: only an accepted weaker format proves it.
                refusal = refusal or error
            except openai.AuthenticationError:
                # The endpoint's own message repeats part of the key.
                raise LLMError(f"{self.name}: the endpoint refused the key; check OPENAI_API_KEY") from None
            except openai.APITimeoutError as error:
                raise LLMError(f"{self.name}: no answer within {self._timeout_s:g} s; try again") from error
            except openai.OpenAIError as error:
                raise self._failed(error) from error
            else:
                self._format = max(self._format, place)
                return words
        raise self._failed(refusal) from refusal

    def _request(self, messages: Messages, schema: type[BaseModel], style: str) -> str:
        if style not in (BOUNDED, PLAIN):
            head, *rest = messages
            messages = [{**head, "content": f"{head['content']}\n\n{schema_text(schema)}"}, *rest]
        room = self._budget.admit(messages)
        limit = {} if room is None else {"max_tokens": room}
        with self._counting:
            self._usage["calls"] += 1
        answer = self._answer(
            model=self._model, messages=messages, temperature=0, **limit, **_response_format(schema, style)
        )
        if answer.usage is not None:
            self._budget.spend(answer.usage.prompt_tokens + answer.usage.completion_tokens)
            with self._counting:
                self._usage["prompt_tokens"] += answer.usage.prompt_tokens
                self._usage["completion_tokens"] += answer.usage.completion_tokens
        # A refusal has no content; the repair turn asks again.
        return (answer.choices[0].message.content or "") if answer.choices else ""

    def _answer(self, **request: Any) -> Any:
        import openai

        try:
            return self._client.chat.completions.create(**request)
        except (openai.RateLimitError, openai.InternalServerError):
            # The SDK's own retries wait as the endpoint asks. What ran out of time is not asked again: that
            # would take as long, and whoever asked has another way.
            patient = self._client.with_options(max_retries=RETRIES)
            return patient.chat.completions.create(**request)

    def _failed(self, error: Exception | None) -> LLMError:
        reason = str(error).replace(self._api_key.get_secret_value(), "***")[:300]
        return LLMError(f"{self.name}: {reason}; check OPENAI_BASE_URL and llm_model")

    @cached_property
    def _client(self) -> Any:
        import openai

        return openai.OpenAI(
            api_key=self._api_key.get_secret_value(),
            base_url=self._base_url,
            timeout=self._timeout_s,
            max_retries=0,
        )


def _response_format(schema: type[BaseModel], style: str) -> dict[str, Any]:
    if style == "text":
        return {}
    if style == "json_object":
        return {"response_format": {"type": "json_object"}}
    import openai

    # The client's own conversion makes a pydantic schema strict: every key required, none extra.
    function = openai.pydantic_function_tool(schema)["function"]
    shape = function["parameters"] if style == BOUNDED else _plain(function["parameters"])
    strict = {"name": schema.__name__, "strict": True, "schema": shape}
    return {"response_format": {"type": "json_schema", "json_schema": strict}}


def _plain(shape: Any) -> Any:
    """Return a schema with nothing in it that strict endpoints refuse."""
    if isinstance(shape, list):
        return [_plain(part) for part in shape]
    if not isinstance(shape, dict):
        return shape
    kept = {key: _plain(value) for key, value in shape.items() if key not in _REFUSED}
    return {"anyOf" if key == "oneOf" else key: value for key, value in kept.items()}
