"""Single memories: add, get, update, delete, match, search, stats, erase."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxmem_graph import FluxMem, NewMemory
from fluxmem_graph.errors import Conflict, InvalidInput, NotFound
from fluxmem_graph.types import Layer, Status
from tests.integration.conftest import Tenants
from tests.integration.graphs import count_nodes, unbroken

NAIVE = datetime(2023, 5, 8, 13, 56)


class Colour(Enum):
    RED = 1


def test_an_added_memory_reads_back_as_it_was_given(memory: FluxMem) -> None:
    added = memory.add(
        "Ada Lovelace likes green tea.",
        external_id="D1:1",
        source="chat.jsonl",
        speaker="Grace",
        occurred_at=datetime(2024, 1, 2, 3, 4, tzinfo=UTC),
        metadata={"topic": "tea", "n": 1},
        reason="told so",
    )
    assert memory.get(added.id) == added
    assert (added.content, added.external_id, added.source) == (
        "Ada Lovelace likes green tea.",
        "D1:1",
        "chat.jsonl",
    )
    assert (added.layer, added.status, added.version) == (Layer.SEMANTIC, Status.ACTIVE, 1)
    assert added.metadata == {"topic": "tea", "n": 1}
    assert added.entities == ("Ada Lovelace",)
    assert added.embedding_model == memory.embedder.name
    [operation] = memory.log()
    assert (operation.kind, operation.actor, operation.reason) == ("create", "test", "told so")
    assert operation.touched == (added.id,)
    assert operation.after is not None and operation.after["content"] == added.content


def test_many_memories_come_back_in_the_order_given(memory: FluxMem) -> None:
    contents = [f"fact number {n}" for n in (3, 1, 2, 1)]
    added = memory.add_many([NewMemory(content) for content in contents])
    assert [m.content for m in added] == contents
    assert added[1].id == added[3].id
    assert memory.add_many([]) == []


def test_an_update_keeps_id_and_links_and_supersedes_the_former_version(memory: FluxMem) -> None:
    added = memory.add("Ada lives in Turin.", source="notes.md", metadata={"sure": True})
    updated = memory.update(added.id, "Ada lives in Milan.", reason="moved")
    assert (updated.id, updated.version, updated.content) == (added.id, 2, "Ada lives in Milan.")
    assert (updated.source, updated.metadata, updated.entities) == (
        "notes.md",
        {"sure": True},
        ("Ada", "Milan"),
    )
    former = memory.get(f"{added.id}@1")
    assert (former.content, former.status, former.version) == (added.content, Status.SUPERSEDED, 1)
    assert former.recorded_to is not None
    assert memory.stats()["link"]["FROM"] == 1
    assert memory.stats()["link"]["SUPERSEDES"] == 1
    assert [hit.content for hit in memory.search("where does Ada live")] == ["Ada lives in Milan."]
    assert [operation.kind for operation in memory.log(added.id)] == ["update", "create"]


def test_an_update_can_replace_the_metadata(memory: FluxMem) -> None:
    added = memory.add("Tea is hot.", metadata={"kind": "a"})
    memory.update(added.id, "Tea is warm.", metadata={"kind": "b"})
    assert [m.id for m in memory.match({"kind": "b"})] == [added.id]
    assert memory.match({"kind": "a"}) == []


def test_an_update_to_a_text_that_is_stored_already_is_refused(memory: FluxMem) -> None:
    memory.add("Tea is hot.")
    other = memory.add("Tea is cold.")
    with pytest.raises(Conflict, match="nothing was changed"):
        memory.update(other.id, "Tea is hot.")
    assert memory.get(other.id) == other
    assert unbroken(memory)


def test_an_update_finds_the_titles_that_the_new_text_mentions(memory: FluxMem) -> None:
    memory.add("A film of 1995.", title="Who's That Girl?")
    added = memory.add("She saw a film.", title="Notes")
    memory.update(added.id, "She saw Who's That Girl? twice.")
    assert "Who's That Girl?" in memory.get(added.id).entities
    memory.undo(memory.log()[0].id)
    assert memory.get(added.id).entities == added.entities


def test_a_deleted_memory_is_found_by_id_only(memory: FluxMem) -> None:
    added = memory.add("The safe opens with 4711.")
    memory.delete(added.id, reason="secret")
    assert memory.get(added.id).status is Status.DELETED
    assert memory.search("safe opens with 4711") == ()
    assert memory.match() == []
    assert memory.log(added.id)[0].reason == "secret"
    with pytest.raises(Conflict, match="deleted already"):
        memory.delete(added.id)
    with pytest.raises(Conflict, match="deleted"):
        memory.update(added.id, "another text")


def test_a_deleted_fact_that_is_added_again_is_the_same_memory(memory: FluxMem) -> None:
    added = memory.add("Water boils at 100 degrees.")
    memory.delete(added.id)
    again = memory.add("Water boils at 100 degrees.")
    assert (again.id, again.status, again.recorded_to) == (added.id, Status.ACTIVE, None)
    assert [operation.kind for operation in memory.log()] == ["revive", "delete", "create"]


@pytest.mark.parametrize("memory_id", ["", "nothing", "x" * 20_000, "'\"}) DETACH DELETE n //"])
def test_an_unknown_id_is_not_found_by_any_call(memory: FluxMem, memory_id: str) -> None:
    memory.add("one memory")
    for call in (memory.get, memory.delete, lambda i: memory.update(i, "text")):
        with pytest.raises(NotFound):
            call(memory_id)
    with pytest.raises(NotFound, match="fluxmem log"):
        memory.undo(memory_id)
    assert memory.log(memory_id) == []


def test_match_pages_by_id_and_filters_by_layer_and_metadata(memory: FluxMem) -> None:
    memory.add_many([NewMemory(f"fact {n}", metadata={"even": n % 2 == 0, "n": n}) for n in range(5)])
    everything = memory.match()
    assert [m.id for m in everything] == sorted(m.id for m in everything)
    first = memory.match(top=2)
    assert first + memory.match(after_id=first[-1].id) == everything
    assert {m.content for m in memory.match({"even": True})} == {"fact 0", "fact 2", "fact 4"}
    assert [m.content for m in memory.match({"even": True, "n": 2})] == ["fact 2"]
    assert memory.match({"even": "true"}) == []
    assert memory.match(layer=Layer.EPISODIC) == []


def test_search_keeps_to_the_filter_and_to_top_k(memory: FluxMem) -> None:
    memory.add_many(
        [NewMemory(f"the cat sat on mat {n}", metadata={"room": "kitchen"}) for n in range(12)]
        + [NewMemory(f"a dog slept on mat {n}", metadata={"room": "attic"}) for n in range(2)]
    )
    assert len(memory.search("cat on the mat", top_k=5)) == 5
    found = memory.search("cat on the mat", top_k=5, where={"room": "attic"})
    assert {hit.metadata["room"] for hit in found} == {"attic"}
    assert len(found) == 2
    assert memory.search("cat", where={"room": "cellar"}) == ()
    with pytest.raises(InvalidInput, match="top_k"):
        memory.search("cat", top_k=0)
    with pytest.raises(InvalidInput, match="room"):
        memory.search("cat", where={"room": ["attic"]})
    with pytest.raises(InvalidInput):
        memory.search("cat", top_k=2**63)


def test_a_filter_finds_what_a_hundred_better_memories_would_hide(memory: FluxMem) -> None:
    memory.add_many([NewMemory(f"the cat sat on mat {n}") for n in range(100)])
    hidden = memory.add("a cat was once seen by a very old man in town", metadata={"room": "attic"})
    assert [hit.id for hit in memory.search("the cat sat on mat", where={"room": "attic"})] == [hidden.id]


def test_each_hit_explains_itself(memory: FluxMem) -> None:
    memory.add("Marie Curie discovered polonium.", title="Marie Curie")
    linked = memory.add("The element polonium was named by Marie Curie after Poland.")
    memory.add("Bread is baked in an oven.")
    hits = memory.search("Who discovered polonium?")
    assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
    best = hits[0]
    assert best.signals.dense is not None and 0 <= best.signals.dense <= 1
    assert best.signals.sparse is not None and 0 <= best.signals.sparse <= 1
    assert any("Marie Curie" in step for hit in hits if hit.id == linked.id for step in hit.path)
    assert memory.activate("polonium").signals["verified"] == "off: no LLM"


def test_a_name_with_more_than_200_mentions_passes_nothing_on(memory: FluxMem) -> None:
    def passed_on() -> set[bool]:
        called = memory.database.call(
            "CALL fluxmem.activate($ns, $text) YIELD path RETURN path", ns=memory.namespace, text=question
        )
        paths = ([hit.path for hit in memory.search(question)], [row["path"] for row in called])
        return {any("→ Marie Curie" in step for path in found for step in path) for found in paths}

    question = "Who wrote about polonium?"
    memory.add_many([NewMemory(f"Letter {n} is from Marie Curie.") for n in range(199)])
    memory.add("It was Marie Curie who wrote about polonium.")
    assert passed_on() == {True}
    memory.add("Letter 199 is from Marie Curie.")
    assert passed_on() == {False}


def test_erasing_takes_everything_of_the_namespace_and_nothing_else(tenant: Tenants) -> None:
    erased, kept = tenant(), tenant()
    for memory in (erased, kept):
        memory.add("Ada met Grace in Paris.", source="diary.md")
        memory.start_episode("plan a trip")
    before = count_nodes(kept)
    assert erased.erase_namespace() == before
    assert count_nodes(erased) == 0
    assert count_nodes(kept) == before
    assert erased.erase_namespace() == 0
    assert erased.search("Ada") == ()
    assert erased.add("Ada met Grace in Paris.").version == 1


# Row 1 of the pitfalls: metadata.

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False)
    | st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=20)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.dates()
)
values = st.recursive(
    scalars | st.frozensets(st.integers() | st.booleans(), max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=5), inner, max_size=3
        )
        | st.tuples(inner, inner)
    ),
    max_leaves=6,
)
keys = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=8)


@given(metadata=st.dictionaries(keys, values, max_size=4))
@settings(max_examples=20, deadline=None)
def test_any_metadata_comes_back_equal(tenant: Tenants, metadata: dict[str, Any]) -> None:
    memory = tenant()
    assert memory.add("a fact", metadata=metadata).metadata == metadata


@pytest.mark.parametrize(
    "value",
    [
        {"user": "x"},
        {1, 2},
        Decimal("1.10"),
        2**63,
        [1, "a"],
        float("inf"),
        {"$set": [1]},
        {3: "x"},
        b"\x00",
        (),
    ],
    ids=repr,
)
def test_awkward_metadata_comes_back_equal(memory: FluxMem, value: object) -> None:
    assert memory.add("a fact", metadata={"info": value}).metadata == {"info": value}


@pytest.mark.parametrize(
    "metadata",
    [{"k": Colour.RED}, {"k": object()}, {"": 1}, {"$k": 1}, {"k": "\ud800"}, {"k": "a\x00"}, [1]],
    ids=repr,
)
def test_metadata_that_cannot_be_stored_is_refused_before_anything_is_written(
    memory: FluxMem, metadata: Any
) -> None:
    with pytest.raises(InvalidInput, match="metadata"):
        memory.add_many([NewMemory("good"), NewMemory("bad", metadata=metadata)])
    assert count_nodes(memory) == 0


# Row 7: long and broken texts.


@pytest.mark.parametrize(
    "content",
    [
        "needle " + "x" * 20_000,
        "needle " + "Big Words In Capitals " * 900,
        "needle " + "word " * 4000,
        "needle \u202eright to left\u202c and \u200fmarks",
        "needle " + "我" * 20_000,
        'needle "' + "Quoted Title " * 6 + '"',
    ],
    ids=["one word", "one run of capitals", "many words", "right to left", "no spaces", "quotation"],
)
def test_long_and_marked_texts_are_stored_and_found(memory: FluxMem, content: str) -> None:
    memory.add_many([NewMemory(f"other {n}") for n in range(3)])
    added = memory.add(content)
    assert memory.get(added.id).content == content
    assert added.id in [hit.id for hit in memory.search("needle")]
    assert memory.formation.activate_vector("needle", None, top_k=1, where={}).facts[0].id == added.id


@pytest.mark.parametrize("text", ["a\x00b", "a\ud800b", "", " \n", "\u200b"], ids=repr)
def test_a_text_that_cannot_be_stored_is_refused_before_anything_is_written(
    memory: FluxMem, text: str
) -> None:
    for field in ("content", "external_id", "source", "speaker", "title"):
        new = replace(NewMemory("good"), **{field: text})  # type: ignore[arg-type]
        with pytest.raises(InvalidInput):
            memory.add_many([NewMemory("fine"), new])
    assert count_nodes(memory) == 0
    added = memory.add("good")
    with pytest.raises(InvalidInput):
        memory.update(added.id, text)
    assert memory.get(added.id) == added


def test_names_that_no_index_can_hold_are_refused_or_left_out(memory: FluxMem) -> None:
    with pytest.raises(InvalidInput, match="source"):
        memory.add("a fact", source="s" * 20_000)
    assert count_nodes(memory) == 0
    long = memory.add("needle", title="T" * 20_000, speaker="S" * 20_000, external_id="I" * 20_000)
    assert memory.get(long.id).external_id == "I" * 20_000


@pytest.mark.parametrize("call", ["get", "delete", "log", "undo", "search"])
def test_half_a_surrogate_pair_is_named_as_the_fault(memory: FluxMem, call: str) -> None:
    with pytest.raises(InvalidInput, match="surrogate"):
        getattr(memory, call)("\ud800")


# Row 8: times.


def test_naive_and_aware_times_become_zoned_utc(memory: FluxMem) -> None:
    east = timezone(timedelta(hours=9))
    naive, aware, none = memory.add_many(
        [
            NewMemory("naive", occurred_at=NAIVE),
            NewMemory("aware", occurred_at=NAIVE.replace(tzinfo=east)),
            NewMemory("none"),
        ]
    )
    assert naive.occurred_at == NAIVE.replace(tzinfo=UTC)
    assert aware.occurred_at == NAIVE.replace(tzinfo=UTC) - timedelta(hours=9)
    assert none.occurred_at is None
    for moment in (naive.occurred_at, aware.occurred_at, naive.recorded_from):
        assert moment is not None and moment.utcoffset() == timedelta(0)
    [hit] = memory.search("aware", top_k=1)
    assert hit.occurred_at == aware.occurred_at


@given(moment=st.datetimes(timezones=st.none() | st.just(UTC) | st.timezones()))
@settings(max_examples=15, deadline=None)
def test_any_time_is_stored_to_the_microsecond_or_refused(tenant: Tenants, moment: datetime) -> None:
    memory = tenant()
    try:
        expected = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except OverflowError:
        with pytest.raises(InvalidInput):
            memory.add("a fact", occurred_at=moment)
    else:
        assert memory.add("a fact", occurred_at=moment).occurred_at == expected


def test_a_time_that_is_no_datetime_is_refused(memory: FluxMem) -> None:
    with pytest.raises(InvalidInput, match="occurred_at"):
        memory.add("a fact", occurred_at="8 May 2023")  # type: ignore[arg-type]
