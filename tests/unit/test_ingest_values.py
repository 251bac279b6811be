"""What may be stored: text, metadata, times, keys."""

import json
import math
import unicodedata
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fluxmem_graph.errors import InvalidInput
from fluxmem_graph.ingest.values import (
    check_text,
    clean_text,
    content_hash,
    decode_metadata,
    encode_metadata,
    memory_key,
    metadata_tag,
    to_utc,
)


class Colour(Enum):
    RED = "red"


class Shade(StrEnum):
    DARK = "dark"


class Level(IntEnum):
    HIGH = 3


storable_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"))
hashable = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(allow_nan=False),
    storable_text,
    st.decimals(allow_nan=False),
    st.dates(),
    st.datetimes(timezones=st.none() | st.just(UTC)),
    st.binary(),
)
values = st.recursive(
    hashable | st.sets(hashable) | st.frozensets(hashable),
    lambda inner: st.one_of(
        st.lists(inner), st.tuples(inner, inner), st.dictionaries(storable_text | st.integers(), inner)
    ),
    max_leaves=20,
)
keys = storable_text.filter(lambda key: key != "" and not key.startswith("$"))


@given(st.dictionaries(keys, values))
def test_metadata_comes_back_equal(metadata: dict[str, Any]) -> None:
    text, _ = encode_metadata(metadata)
    restored = decode_metadata(text)
    assert restored == metadata
    # 1, 1.0 and True are equal in Python, but not the same value.
    assert repr(sorted(map(repr, restored))) == repr(sorted(map(repr, metadata)))


@pytest.mark.parametrize(
    "value",
    [
        {"user": "x"},
        {1, 2},
        Decimal("1.10"),
        Shade.DARK,
        Level.HIGH,
        2**63,
        -(2**200),
        [1, "a"],
        {"$set": [1]},
        {"$decimal": "1"},
        {"$": {"$$": 1}},
        {1: "a", "1": "b"},
        math.inf,
        [],
        {},
        "a\u200fb",
        {"a": [{"b": ({"c"},)}]},
    ],
)
def test_unusual_metadata_comes_back_equal(value: Any) -> None:
    text, _ = encode_metadata({"info": value})
    assert decode_metadata(text) == {"info": value}


def test_plain_metadata_stays_readable_json() -> None:
    metadata = {"info": {"user": "Zoë"}, "n": [1, "a", None]}
    text, _ = encode_metadata(metadata)
    assert json.loads(text) == metadata
    assert "Zoë" in text


def loop() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


@pytest.mark.parametrize(
    "value", [Colour.RED, object(), "a\x00b", "\ud800", {"x": "\ud800"}, loop(), [10**5000], timedelta(1)]
)
def test_metadata_that_could_not_come_back_is_refused_naming_the_key(value: Any) -> None:
    with pytest.raises(InvalidInput, match="'info'"):
        encode_metadata({"ok": 1, "info": value})


@pytest.mark.parametrize("key", ["", "$set", 1, "a\x00b"])
def test_bad_metadata_keys_are_refused(key: Any) -> None:
    with pytest.raises(InvalidInput):
        encode_metadata({key: 1})


def test_top_level_scalars_become_tags() -> None:
    _, tags = encode_metadata(
        {"year": 2020, "lang": "en", "ok": True, "x": 1.5, "none": None, "list": [1], "shade": Shade.DARK}
    )
    assert tags == ["year=int:2020", "lang=str:en", "ok=bool:true", "x=float:1.5", "shade=str:dark"]
    assert metadata_tag("day", date(2020, 1, 2)) == "day=date:2020-01-02"


@given(keys, keys, storable_text, storable_text)
def test_tags_of_different_pairs_differ(a: str, b: str, x: str, y: str) -> None:
    assert (metadata_tag(a, x) == metadata_tag(b, y)) == ((a, x) == (b, y))


def test_a_value_with_an_equals_sign_does_not_pose_as_another_key() -> None:
    assert metadata_tag("a", "x=int:3") != metadata_tag("a=str:x", 3)


def test_text_is_stored_in_nfc() -> None:
    assert clean_text("Zoe\u0308") == "Zoë"
    assert content_hash("Zoe\u0308") == content_hash("Zoë")


@pytest.mark.parametrize("text", ["a\u200fb", "שלום\u200f", "😀", "👩\u200d💻", "x" * 20_000, "a\nb\tc"])
def test_marks_emoji_and_long_texts_are_kept(text: str) -> None:
    assert clean_text(text) == text


@pytest.mark.parametrize("text", ["", " \n", "\u200f", "\u200b\u00a0", "a\x00b", "\x00", "a\ud800", "\udfff"])
def test_texts_that_cannot_be_stored_or_found_are_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        clean_text(text)


@given(st.text(st.characters()))
def test_clean_text_refuses_or_returns_storable_text(text: str) -> None:
    try:
        cleaned = clean_text(text)
    except InvalidInput:
        return
    assert cleaned.encode().decode() == cleaned == unicodedata.normalize("NFC", text)
    assert "\x00" not in cleaned
    assert check_text(cleaned) == cleaned


@given(*[st.none() | storable_text] * 2, *[st.none() | storable_text] * 2)
def test_keys_of_items_with_ids_differ_exactly_when_source_or_id_do(
    source: str | None, other_source: str | None, one: str | None, other: str | None
) -> None:
    same = memory_key(source, one or "", "x") == memory_key(other_source, other or "", "y")
    assert same == ((source, one or "") == (other_source, other or ""))


def test_keys_keep_source_and_id_apart() -> None:
    assert memory_key("a", "bc", "x") != memory_key("ab", "c", "x")
    assert memory_key("a", "1", "x") != memory_key(None, None, '["a", "1"]')


def test_a_fact_without_an_id_is_the_same_from_every_source() -> None:
    assert memory_key("a", None, "x") == memory_key("b", None, "x") == content_hash("x")
    assert memory_key("a", None, "x") != memory_key("a", None, "y")


def test_naive_times_are_taken_as_utc_and_said_to_be() -> None:
    moment = datetime(2023, 5, 8, 13, 56)
    assert to_utc(moment) == (moment.replace(tzinfo=UTC), True)
    eastern = moment.replace(tzinfo=timezone(timedelta(hours=-4)))
    assert to_utc(eastern) == (datetime(2023, 5, 8, 17, 56, tzinfo=UTC), False)
    assert to_utc(eastern)[0].tzinfo is UTC
    with pytest.raises(InvalidInput):
        to_utc(datetime.max.replace(tzinfo=timezone(timedelta(hours=-4))))
