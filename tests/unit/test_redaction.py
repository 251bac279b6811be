"""Erased texts are found wherever they are quoted, and nothing else is touched."""

import json

from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.operations.redaction import ERASED, SHORTEST_QUOTED, Markers, redacted

LONG = "Ada keeps the key under the stone."
texts = st.text(alphabet="ab ", min_size=SHORTEST_QUOTED, max_size=SHORTEST_QUOTED + 6)


def clean(value: object, markers: Markers) -> object:
    return redacted([("content", "plain", value)], markers).get("content", value)


@given(st.lists(texts, max_size=4), texts, st.lists(st.text(alphabet="ab .", max_size=30), max_size=4))
def test_no_quoted_text_is_left(marks: list[str], mark: str, around: list[str]) -> None:
    markers = Markers(frozenset([*marks, mark]))
    forms = {form for each in [*marks, mark] for form in (each, " ".join(each.split())) if form}
    text = mark.join(around)
    left = markers.without(text)
    long = [form for form in forms if len(form) >= SHORTEST_QUOTED]
    assert not any(form in left for form in long)
    assert (left != text) == (text in forms or any(form in text for form in long))


@given(texts, st.text(alphabet=".:", max_size=9), st.integers(0, 22), st.booleans())
def test_a_text_that_was_cut_is_found_from_its_sixteenth_character_on(
    mark: str, before: str, length: int, on: bool
) -> None:
    cut = mark[:length]
    left = Markers(frozenset({mark})).without(f"{before}{cut}…{' and so on' if on else ''}")
    assert (f"{cut}…" in left) == (length < SHORTEST_QUOTED)


def test_a_name_that_is_a_word_of_ours_takes_only_what_others_said() -> None:
    document = '{"status": "active", "content": "Active is a ship."}'
    properties = [
        ("status", "plain", "active"),
        ("before", "plain", document),
        ("metadata", "plain", document),
    ]
    found = redacted(properties, Markers(frozenset(), "Active"))
    assert json.loads(found["before"]) == {"status": "active", "content": f"{ERASED} is a ship."}
    assert json.loads(found["metadata"]) == {"status": ERASED, "content": f"{ERASED} is a ship."}
    assert "status" not in found


def test_a_short_text_counts_only_as_a_whole() -> None:
    markers = Markers(frozenset({"Yes."}))
    assert markers.without("Yes.") == ERASED
    assert markers.without("Yes. And no.") == "Yes. And no."


def test_quotations_on_one_line_in_calls_and_as_names_are_found() -> None:
    text = 'Ada said:\n"The key is under the third stone,  behind the well of the garden." … and left…'
    markers = Markers(frozenset({text}))
    line = " ".join(text.split())
    call = json.dumps({"tool": "say", "arguments": {"text": text}})
    assert markers.without(f"1. say: {line}!") == f"1. say: {ERASED}!"
    assert (
        markers.without(f"Steps: {call}; look")
        == f'Steps: {{"tool": "say", "arguments": {{"text": "{ERASED}"}}}}; look'
    )
    for cut in (line[:59], line[:82], line[:20].rstrip()):
        assert markers.without(f"{cut}…") == ERASED
    assert markers.without(text[:60]) == ERASED
    assert markers.without(text[:59]) == text[:59]


def test_a_name_is_found_between_words_in_any_case() -> None:
    markers = Markers(frozenset(), "Ann Lee")
    assert markers.without("ANN LEE met Ann Leeson.") == f"{ERASED} met Ann Leeson."
    assert Markers(frozenset(), "C++").without("use C++ now") == f"use {ERASED} now"


def test_documents_are_read_and_lose_what_names_the_erased() -> None:
    markers = Markers(frozenset({LONG}), ids=frozenset({"m1"}))
    after = json.dumps(
        {
            "content": f'He said:\n"{LONG}"',
            "used": ["m1", "m2"],
            "found": [{"id": "m1", "gain": 1}],
            "memory": "m1",
        }
    )
    changed = json.loads(str(clean(after, markers)))
    assert changed == {"content": f'He said:\n"{ERASED}"', "used": ["m2"], "found": [], "paired": 4}


def test_words_of_a_task_are_told_anew() -> None:
    after = json.dumps({"task": "ask Ann Lee for tea", "words": ["ask", "ann", "lee", "tea"]})
    changed = json.loads(str(clean(after, Markers(frozenset(), "Ann Lee"))))
    assert "ann" not in changed["words"] and "tea" in changed["words"]


def test_untouched_values_keep_their_bytes() -> None:
    markers = Markers(frozenset({LONG}))
    for value in ('{ "a" : 1 }', "{not json", 3, None, ["x"], True):
        assert clean(value, markers) is value or clean(value, markers) == value
    assert redacted([("id", "plain", LONG), ("at", "time", LONG)], markers) == {}
    assert clean(["x", LONG], markers) == ["x", ERASED]
