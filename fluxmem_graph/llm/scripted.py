"""A language model that says what it was told to, for tests."""

from collections.abc import Iterable

from pydantic import BaseModel

from fluxmem_graph.errors import LLMError
from fluxmem_graph.llm.structured import Messages, ask_structured
from fluxmem_graph.protocols import ModelT


class ScriptedLLM:
    """Gives the answers in order; each call, a repair turn too, takes one.

    Text is parsed as a model's words, a pydantic model is sent as JSON, an exception is raised.
    """

    def __init__(self, answers: Iterable[str | BaseModel | Exception]) -> None:
        self._answers = list(answers)
        self.conversations: list[Messages] = []

    @property
    def name(self) -> str:
        """Always `scripted`."""
        return "scripted"

    @property
    def usage(self) -> dict[str, int]:
        """Totals since creation; tokens are not counted."""
        return {"calls": len(self.conversations), "prompt_tokens": 0, "completion_tokens": 0}

    def ask(self, system: str, user: str, schema: type[ModelT]) -> ModelT:
        """Return the next answer as an instance of `schema`. Raises LLMError, also when none is left."""
        return ask_structured(self._complete, system, user, schema)

    def _complete(self, messages: Messages) -> str:
        if len(self.conversations) == len(self._answers):
            raise LLMError(f"the script has only {len(self._answers)} answers; add one for this call")
        answer = self._answers[len(self.conversations)]
        self.conversations.append([*messages])
        if isinstance(answer, Exception):
            raise answer
        return answer.model_dump_json() if isinstance(answer, BaseModel) else answer
