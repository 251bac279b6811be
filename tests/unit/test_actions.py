"""An action as text, and back."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.ingest.actions import ToolCall, parse_call, render_action

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
