"""An agent's action as text, and the tool call that such a text stands for."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from fluxmem_graph.types import NewStep

_NAME = re.compile(r"[A-Za-z_][\w.:/-]*")
_JSON = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A tool and its arguments by name, any JSON values."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


def render_action(action: object) -> str:
    """Return an action as readable text: what was said, or `tool(name="value", ...)`."""
    if action is None:
        return ""
    if isinstance(action, str):
        return action
    if isinstance(action, Mapping):
        if isinstance(action.get("say"), str):
            return str(action["say"])
        arguments = action.get("arguments", {})
        if isinstance(action.get("tool"), str) and isinstance(arguments, Mapping):
            shown = ", ".join(f"{name}={_text(value)}" for name, value in arguments.items())
            return f"{action['tool']}({shown})"
    return _text(action)


def parse_call(text: str) -> ToolCall | None:
    """Return the call that `render_action` wrote, or an agent in its form; None for any other text."""
    tool = _NAME.match(text)
    if tool is None or not text.startswith("(", tool.end()) or not text.endswith(")"):
        return None
    arguments: dict[str, Any] = {}
    place, end = tool.end() + 1, len(text) - 1
    while place < end:
        name = _NAME.match(text, place)
        if name is None or not text.startswith("=", name.end()):
            return None
        try:
            arguments[name[0]], place = _JSON.raw_decode(text, name.end() + 1)
        except (ValueError, RecursionError):
            return None
        if place < end:
            if not text.startswith(", ", place):
                return None
            place += len(", ")
    return ToolCall(tool[0], arguments) if place == end else None


def told_and_called(steps: Iterable[NewStep]) -> Iterator[tuple[str | None, ToolCall | None]]:
    """Yield what each step told the agent, None where a tool answered, and the call that it made, if any."""
    answers = False
    for step in steps:
        call = parse_call(step.action)
        yield None if answers else step.observation, call
        answers = call is not None


def tools_called(steps: Iterable[NewStep]) -> list[str]:
    """Return the tools that steps call, in order."""
    return [call.tool for _, call in told_and_called(steps) if call is not None]


def _text(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
