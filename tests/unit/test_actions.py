"""An action as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.ingest.actions import ToolCall, parse_call, render_action
from fluxmem_graph.operations.embedded import trajectory_text
from fluxmem_graph.types import NewStep

names = st.from_regex(r"[A-Za-z_]\w{0,12}", fullmatch=True)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(names, st.dictionaries(names, values, max_size=4))
def test_a_call_is_read_back_from_its_text(tool: str, arguments: dict[str, object]) -> None:
    text = render_action({"tool": tool, "arguments": arguments})
    assert parse_call(text) == ToolCall(tool, arguments)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "stop",
        "I called you (twice)",
        "sum(gold + silver)",
        'open(file="a"',
        'open(file="a") and close()',
        'open("a")',
        "open(file=)",
        'open(file="a",, mode="r")',
        "open(file=" + "[" * 100_000 + ")",
    ],
)
def test_any_other_text_is_no_call(text: str) -> None:
    assert parse_call(text) is None


def test_a_trajectory_tells_what_was_said_and_which_tools_were_called_but_no_answers() -> None:
    steps = [
        NewStep("I want a refund", 'find(order="A-1")'),
        NewStep("order A-1: 5 euros", "Shall I refund 5 euros?"),
        NewStep("Yes", "pay()"),
    ]
    assert trajectory_text("Refund", steps) == "Refund\nI want a refund\nfind\nYes\npay"


def test_a_trajectory_without_tools_tells_what_was_done() -> None:
    steps = [NewStep("a mug", "take mug"), NewStep("a shelf", "put mug")]
    assert trajectory_text("Tidy up", steps) == "Tidy up\na mug\ntake mug\na shelf\nput mug"


def test_of_a_run_of_5000_steps_the_beginning_is_embedded() -> None:
    assert len(trajectory_text("Count", [NewStep("", "next()")] * 5000).splitlines()) == 201
