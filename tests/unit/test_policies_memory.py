"""A store under a capacity: every operation has an outcome, and what it does is what it says."""

import pytest

from fluxmem_graph.policies.features import cost
from fluxmem_graph.policies.memory import Capacity, TaskMemory, merged
from fluxmem_graph.types import Create, Delete, NewMemory, Note, Read, Update
from tests.unit.streams import stream

CHUNKS = stream().chunks
TWO = Capacity(2, 10_000)


def filled(capacity: Capacity | None, number: int) -> TaskMemory:
    memory = TaskMemory(capacity)
    for chunk in CHUNKS[:number]:
        [outcome] = memory.apply([Create(chunk.memory)], chunk)
        assert outcome.done
    return memory


def test_a_created_memory_has_a_stable_id_through_updates() -> None:
    memory = filled(None, 2)
    [outcome] = memory.apply([Update("m1", "another text")], CHUNKS[2])
    assert outcome.id == "m1"
    assert memory.entries["m1"].memory.content == "another text"
    assert memory.entries["m1"].sources == ("c0", "c2")


def test_operations_are_applied_in_order_with_an_outcome_each() -> None:
    memory = filled(TWO, 2)
    chunk = CHUNKS[2]
    full, deleted, created, unknown = memory.apply(
        [Create(chunk.memory), Delete("m1"), Create(chunk.memory), Delete("m1")], chunk
    )
    assert (full.done, full.problem) == (False, "no room: 2 entries are held")
    assert deleted.done and created.done and created.id == "m3"
    assert unknown.problem == "there is no memory m1"
    assert memory.counts["failed"] == 2
    assert list(memory.entries) == ["m2", "m3"]


def test_entries_and_tokens_bound_the_store_together() -> None:
    tokens = cost(CHUNKS[0].memory)
    memory = filled(Capacity(10, tokens), 1)
    [outcome] = memory.apply([Create(CHUNKS[1].memory)], CHUNKS[1])
    assert outcome.problem.startswith(f"no room: {tokens} of {tokens} tokens")
    [grown] = memory.apply([Update("m1", merged(CHUNKS[0].memory, CHUNKS[1].memory))], CHUNKS[1])
    assert not grown.done
    assert memory.tokens == tokens


def test_reading_brings_the_nearest_back_and_changes_nothing() -> None:
    memory = filled(None, 8)
    [outcome] = memory.apply([Read(CHUNKS[6].memory.content, 2)], CHUNKS[6])
    assert [hit.id for hit in outcome.hits] == ["m7", "m3"]
    assert outcome.hits[0].score == pytest.approx(1)


def test_the_nearest_stay_right_while_memories_come_and_go() -> None:
    memory = filled(None, 12)
    for name in ("m1", "m7", "m12", "m5"):
        memory.apply([Delete(name)], CHUNKS[0])
    for chunk in CHUNKS[12:15]:
        memory.apply([Create(chunk.memory)], chunk)
    for entry in memory.entries.values():
        best = max(float(other.vector @ entry.vector) for other in memory.entries.values())
        [(_, cosine)] = memory.nearest(entry.vector, 1)
        assert cosine == pytest.approx(best)
    assert len(memory.nearest(CHUNKS[0].vector, 100)) == len(memory.entries) == 11


def test_a_note_rewrites_the_scratchpad() -> None:
    memory = TaskMemory(None)
    memory.apply([Note("Ada buys things")], CHUNKS[0])
    assert memory.scratchpad == "Ada buys things"


@pytest.mark.parametrize(
    ("part", "operation"),
    [
        ("store", Create(NewMemory("a"))),
        ("update", Update("m1", "b")),
        ("delete", Delete("m1")),
        ("scratchpad", Note("c")),
    ],
)
def test_a_part_that_is_missing_refuses_its_operation(part: str, operation: Create) -> None:
    memory = filled(None, 1)
    memory.without = {part}
    [outcome] = memory.apply([operation], CHUNKS[0])
    assert outcome.problem == f"there is no {part}"


def test_without_a_scratchpad_nobody_knows_what_was_written_last() -> None:
    memory = filled(None, 2)
    assert memory.last == "m2"
    memory.without = {"scratchpad"}
    assert memory.last is None
