"""Stage III, alignment: steps that successful runs have in common, with slots for what varies."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rapidfuzz import fuzz, process
from rapidfuzz.distance import Indel, LCSseq

from fluxmem_graph.ingest.actions import ToolCall, parse_call, render_action
from fluxmem_graph.types import NewEpisode

LONGEST_RUN = 200
"""Actions of a run that are looked at, repeated ones as one; no skill is that long."""
SAME_WORDS = 60
"""Share of common words, in percent, from which two spoken actions are the same step."""
LONGEST_SAID = 400
"""Characters of a saying that are compared."""
SAID_LENGTH, VALUE_LENGTH, EXAMPLE_LENGTH = 100, 120, 40
EXAMPLES = 2

_SECRET = re.compile(
    r"pass(word|wd|phrase|code)|secret|token|(api|access|private)[-_]?key|credential|authorization|bearer|cookie"
    r"|card_?number|(?<![a-z])(pin|otp|cvv|cvc|ssn)(?![a-z])",
    re.IGNORECASE,
)
_VALUE = (
    r"(?:\\+(?P<quote>[\"'])[\s\S]*?(?:\\+(?P=quote)|$)"  # quoted within a quoted text
    r"|\"(?:\\.|[^\"\\])*(?:\"|$)|'[^']*(?:'|$)"
    # A skill's {slot} is no secret, and neither is what was masked.
    r"|(?!\{[A-Za-z]\w*\}|\*{3}(?:[\s\"']|$))(?:(?:bearer|basic|digest|token)\s+)?[^\s,;})]+)"
)
# Whole words, each looked at once: a long one must not cost its length squared.
_NAMED = rf"(?<![\w-])(?=[\w-]*(?:{_SECRET.pattern}))[\w-]++"
_OPTION = rf"(?<![\w-])(?=--[\w-]*(?:{_SECRET.pattern}))[\w-]++"
# In a text: a name of a secret with its value after it, as JSON, a header or a command line has it.
_NAMED_SECRETS = tuple(
    re.compile(f"(?P<name>{name}){value}", re.IGNORECASE)
    for name, value in (
        (r"cookie\s*:\s*(?=[^\s\"'\\])", r"[^\n]+"),
        (r"authorization\s*:\s*(?=[^\s\"'\\])", r"[^\n]+?(?=[\"'](?:\s|$)|\n|$)"),
        (rf"{_NAMED}\\*[\"']?\s*[:=]\s*", _VALUE),
        (rf"{_OPTION}\s++(?!--)", _VALUE),
    )
)
MASKED = "***"

Redact = Callable[[str], str]
"""Takes secrets out of a text before it becomes part of a skill or reaches a model."""


@dataclass(frozen=True, slots=True)
class Step:
    """A step as runs took it: what was said, or calls of one tool; `support` is their share (0..1)."""

    said: str
    calls: tuple[ToolCall, ...]
    repeated: bool
    support: float


@dataclass(slots=True)
class Slots:
    """Names for values that vary between runs, with the values seen; equal values share a name."""

    redact: Redact
    examples: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _names: dict[tuple[str, ...], str] = field(default_factory=dict)

    def name(self, wanted: str, values: Sequence[Any]) -> str:
        """Return `{slot}` for values of an argument called `wanted`."""
        seen = tuple(dict.fromkeys(_json(value) for value in values))
        base = re.sub(r"\W+", "_", wanted.lower()).strip("_") or "value"
        key = (base, *seen)
        if key not in self._names:
            name, number = base, 2
            while name in self.examples:
                name, number = f"{base}_{number}", number + 1
            self._names[key] = name
            shown = () if _SECRET.search(wanted) else seen[:EXAMPLES]
            self.examples[name] = tuple(shorten(self.redact(text), EXAMPLE_LENGTH) for text in shown)
        return "{" + self._names[key] + "}"


def align(runs: Sequence[NewEpisode]) -> list[Step]:
    """Return the steps of the most typical run, each with the share of runs that took it too, in order.

    Runs are aligned with it by their longest common subsequence of tools and sayings. Of equally typical runs
    the shortest is taken.
    """
    actions = [_actions(run) for run in runs]
    symbols = _symbols(actions)
    typical = max(range(len(runs)), key=lambda run: (_likeness(run, symbols), -len(symbols[run]), -run))
    calls: list[list[ToolCall]] = [list(action.calls) for action in actions[typical]]
    taken = [1] * len(calls)
    for run, other in enumerate(symbols):
        if run == typical:
            continue
        for mine, theirs in _matches(symbols[typical], other):
            taken[mine] += 1
            calls[mine] += actions[run][theirs].calls
    return [
        Step(action.said, tuple(same), action.repeated, count / len(runs))
        for action, same, count in zip(actions[typical], calls, taken, strict=True)
    ]


def render(step: Step, slots: Slots) -> str:
    """Return a step as one line: `tool(name="value", other={slot})`, or what was said, shortened."""
    if not step.calls:
        return f"say: {shorten(slots.redact(step.said), SAID_LENGTH)}"
    names = dict.fromkeys(name for call in step.calls for name in call.arguments)
    shown = ", ".join(
        f"{name}={_general(name, [c.arguments[name] for c in step.calls if name in c.arguments], slots)}"
        for name in names
    )
    return f"{step.calls[0].tool}({shown}){' for each' if step.repeated else ''}"


def tools_of(steps: Sequence[str]) -> list[str]:
    """Return the tools that rendered steps call, in order."""
    return [found[1] for line in steps if (found := re.match(r"([A-Za-z_][\w.:/-]*)\(", line))]


def shorten(text: str, length: int) -> str:
    """Return the start of a text on one line, at most `length` characters."""
    line = " ".join(text.split())
    return line if len(line) <= length else line[: length - 1].rstrip() + "…"


def _actions(run: NewEpisode) -> list[Step]:
    """Return a run's actions; calls of one tool that follow each other are one, and so are equal sayings."""
    found: list[Step] = []
    for step in run.steps:
        if not step.action.strip():
            continue
        call = parse_call(step.action)
        last = found[-1] if found else None
        if call and last and last.calls and last.calls[0].tool == call.tool and _brief(call):
            found[-1] = Step("", (*last.calls, call), True, 1.0)
        elif call or not last or last.said != step.action:
            if len(found) == LONGEST_RUN:
                break
            found.append(Step("", (call,), False, 1.0) if call else Step(step.action, (), False, 1.0))
    return found


def _brief(call: ToolCall) -> bool:
    """Tell whether arguments only name things, so that calls in a row do the same to each."""
    return all(len(value) <= EXAMPLE_LENGTH for value in call.arguments.values() if isinstance(value, str))


def _symbols(runs: Sequence[Sequence[Step]]) -> list[list[str]]:
    """Return a word for every action: its tool, or a saying with mostly the same words."""
    sayings: list[str] = []

    def symbol(action: Step) -> str:
        if action.calls:
            return f"call {action.calls[0].tool}"
        text = action.said[:LONGEST_SAID]
        same = process.extractOne(text, sayings, scorer=fuzz.token_set_ratio, score_cutoff=SAME_WORDS)
        if same is not None:
            return f"say {same[2]}"
        sayings.append(text)
        return f"say {len(sayings) - 1}"

    return [[symbol(action) for action in run] for run in runs]


def _likeness(run: int, symbols: Sequence[Sequence[str]]) -> float:
    return sum(
        Indel.normalized_similarity(symbols[run], other)
        for place, other in enumerate(symbols)
        if place != run
    )


def _matches(first: Sequence[str], second: Sequence[str]) -> list[tuple[int, int]]:
    return [
        (block.src_start + offset, block.dest_start + offset)
        for block in LCSseq.opcodes(first, second)
        if block.tag == "equal"
        for offset in range(block.src_end - block.src_start)
    ]


def _general(name: str, values: Sequence[Any], slots: Slots) -> str:
    """Return what values of one argument have in common as text: constants stay, the rest become slots."""
    if _SECRET.search(name):
        return slots.name(name, values)
    if all(isinstance(value, Mapping) and value.keys() == values[0].keys() for value in values) and values[0]:
        inner = [f'"{key}": {_general(key, [value[key] for value in values], slots)}' for key in values[0]]
        text = "{" + ", ".join(inner) + "}"
        return text if len(text) <= VALUE_LENGTH else slots.name(name, values)
    texts = {_json(value) for value in values}
    if len(texts) == 1:
        return shorten(slots.redact(texts.pop()), VALUE_LENGTH)
    return slots.name(name, values)


def mask(value: Any) -> Any:
    """Return a value of an argument without what stands under the name of a secret, at any depth."""
    if isinstance(value, Mapping):
        return {name: MASKED if _SECRET.search(name) else mask(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [mask(inner) for inner in value]
    return _mask_text(value) if isinstance(value, str) else value


def mask_call(text: str) -> str:
    """Return an action without the secrets among its arguments."""
    call = parse_call(text)
    if call is not None:
        return render_action({"tool": call.tool, "arguments": mask(call.arguments)})
    return _mask_text(text)


def _mask_text(text: str) -> str:
    for named in _NAMED_SECRETS:
        text = named.sub(rf"\g<name>{MASKED}", text)
    return text


def _json(value: object) -> str:
    return json.dumps(mask(value), ensure_ascii=False)
