"""Names in texts, by rule."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.ingest.entities import entity_key, extract_entities, title_names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("We met Ada Lovelace in London.", ["Ada Lovelace", "London"]),
        ("Yesterday was fun. However, nothing else happened.", []),
        ("What's new? Here's the thing: it's fine.", []),
        ("The Duke of Wellington spoke", ["Duke of Wellington", "The Duke of Wellington"]),
        ("Ada and Grace wrote it", ["Ada and Grace", "Ada", "Grace", "Ada and Grace"]),
        ("In 1984 it was 2023", []),
        ("born on May 8, 2023 (Monday)", []),
        ("Łódź and Ørsted", ["Łódź and Ørsted", "Łódź", "Ørsted"]),
        ("She watched As You Like It", ["As You Like It"]),
        ("Ada's book", ["Ada"]),
        ("the book “Dune” and his “whatever”", ["Dune"]),
        ("我读了《三体》", ["三体"]),
        ("A fan of Iron Man: Rise of Steel.", ["Iron Man: Rise of Steel", "Iron Man", "Rise of Steel"]),
        ("son of Tom Gray, 2nd Earl of Kent", ["Tom Gray, 2nd Earl of Kent", "Tom Gray", "Earl of Kent"]),
        ("", []),
    ],
)
def test_names_of_a_text(text: str, names: list[str]) -> None:
    expected = {entity_key(name) for name in names}
    assert {entity_key(name) for name in extract_entities(text)} >= expected
    if not expected:
        assert extract_entities(text) == []


def test_a_name_comes_once_in_the_order_of_the_text() -> None:
    assert extract_entities("then Ada Lovelace saw London; Ada Lovelace left") == [
        "Ada Lovelace",
        "London",
    ]


def test_a_title_is_a_name_with_and_without_its_parenthesis() -> None:
    assert title_names("Heat (film)") == ["Heat (film)", "Heat"]
    assert title_names("Heat") == ["Heat"]
    assert title_names(None) == title_names(" ") == []


def test_a_mention_has_the_key_of_the_title() -> None:
    mentioned = {entity_key(name) for name in extract_entities("He liked The Silent River’s ending.")}
    assert entity_key("The Silent River") in mentioned


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The Beatles", "beatles"),
        ("Ａｄａ", "ada"),
        ("J.K. Rowling", "J. K. Rowling"),
        ("STRASSE", "straße"),
        ("Ada's", "Ada"),
        ("Spider-Man", "spider man"),
    ],
)
def test_spellings_of_one_name_share_a_key(one: str, other: str) -> None:
    assert entity_key(one) == entity_key(other)


def test_names_that_differ_keep_different_keys() -> None:
    names = [
        "스코프랩스",
        "스코프 랩스",
        "😀",
        "The Who",
        "Who Dares",
        "我喜欢健身",
        "我喜欢普洱茶",
        "C++",
        "!",
    ]
    assert len({entity_key(name) for name in names}) == len(names)


@given(st.text())
def test_keys_are_stable_and_names_are_never_blank_or_numbers(text: str) -> None:
    assert entity_key(entity_key(text)) == entity_key(text) or entity_key(text).split(" ")[0] in {
        "the",
        "a",
        "an",
    }
    for name in extract_entities(text):
        assert entity_key(name).strip()
        assert not entity_key(name).replace(" ", "").isdecimal()


@given(st.text())
def test_each_entity_comes_once(text: str) -> None:
    keys = [entity_key(name) for name in extract_entities(text)]
    assert len(keys) == len(set(keys))
