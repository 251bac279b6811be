"""Limits on what a run may spend on a language model."""

import json
import math
import threading
from dataclasses import dataclass, field

from fluxmem_graph.errors import BudgetExceeded
from fluxmem_graph.llm.structured import Messages

# A token is hardly ever shorter: the estimate errs towards stopping early.
BYTES_PER_TOKEN = 3


@dataclass(slots=True)
class Budget:
    """Most calls and tokens (prompt and completion together); None is no limit."""

    max_calls: int | None = None
    max_tokens: int | None = None
    _calls: int = 0
    _tokens: int = 0
    _counting: threading.Lock = field(default_factory=threading.Lock)

    def admit(self, messages: Messages) -> int | None:
        """Count one call and return how many tokens its answer may have.

        Raises BudgetExceeded before anything is sent.
        """
        with self._counting:
            if self.max_calls is not None and self._calls + 1 > self.max_calls:
                raise BudgetExceeded(
                    f"the budget of {self.max_calls} LLM calls is used up; raise max_llm_calls"
                )
            room = None
            if self.max_tokens is not None:
                prompt = math.ceil(len(json.dumps(messages, ensure_ascii=False).encode()) / BYTES_PER_TOKEN)
                left = max(0, self.max_tokens - self._tokens)
                room = left - prompt
                if room < 1:
                    raise BudgetExceeded(
                        f"the next LLM call needs about {prompt} tokens, {left} of {self.max_tokens} left; "
                        "raise max_llm_tokens"
                    )
            self._calls += 1
            return room

    def spend(self, tokens: int) -> None:
        """Count what a call has used."""
        with self._counting:
            self._tokens += tokens
