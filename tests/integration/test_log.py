"""The operation log: every change is in it once, and single operations can be taken back."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fluxmem_graph import FluxMem
from fluxmem_graph.errors import Conflict, NotFound
from fluxmem_graph.settings import GuardSettings
from fluxmem_graph.types import Status
from tests.integration.conftest import Tenants
from tests.integration.graphs import snapshot, unbroken

CONTENTS = ("Ada lives in Turin.", "Grace wrote to Ada.", "Alan broke the Enigma code.")
changes = st.tuples(
    st.sampled_from(("add", "update", "delete")), st.sampled_from(CONTENTS), st.integers(0, 5)
)


def apply(memory: FluxMem, change: tuple[str, str, int]) -> None:
    """Make one change, or none where the state forbids it."""
    kind, content, pick = change
    known = memory.match()
    if kind == "add" or not known:
        memory.add(content, source="notes.md", metadata={"n": pick})
    elif kind == "delete":
        memory.delete(known[pick % len(known)].id)
    else:
        memory.update(
            known[pick % len(known)].id, f"{content} It is told {pick} times.", metadata={"v": pick}
        )


@given(sequence=st.lists(changes, min_size=1, max_size=5))
@example(
    sequence=[
        ("add", "Ada lives in Turin.", 0),
        ("update", "Ada lives in Turin.", 0),
        ("add", "Ada lives in Turin.", 0),
    ]
)
@settings(max_examples=8, deadline=None)
def test_undoing_all_operations_backwards_passes_every_earlier_state(
    tenant: Tenants, sequence: list[tuple[str, str, int]]
) -> None:
    memory = tenant()
    # These texts have nothing in common: a guard would take the rewritings for drift.
    memory.settings = memory.settings.model_copy(update={"guards": GuardSettings(enabled=False)})
    states = [snapshot(memory)]
    for change in sequence:
        before = len(memory.log())
        try:
            apply(memory, change)
        except Conflict:
            assert snapshot(memory) == states[-1]
        if len(memory.log()) > before:
            states.append(snapshot(memory))
    operations = memory.log()
    for operation in operations:
        assert snapshot(memory) == states.pop()
        memory.undo(operation.id)
    assert snapshot(memory) == states.pop() == []
    assert unbroken(memory)
    assert len(memory.log()) == 2 * len(operations)


def test_undoing_an_update_brings_back_text_metadata_and_names(memory: FluxMem) -> None:
    added = memory.add("Ada lives in Turin.", speaker="Grace", metadata={"sure": True})
    memory.update(added.id, "Alan lives in Rome.", metadata={"other": 1})
    [update, _] = memory.log(added.id)
    assert memory.undo(update.id, reason="wrong") == added.id
    assert memory.get(added.id) == added
    assert [m.id for m in memory.match({"sure": True})] == [added.id]
    assert memory.log()[0].reason == "wrong"
    with pytest.raises(NotFound):
        memory.get(f"{added.id}@1")


def test_undoing_a_deletion_makes_the_memory_findable_again(memory: FluxMem) -> None:
    added = memory.add("Ada lives in Turin.")
    memory.delete(added.id)
    memory.undo(memory.log()[0].id)
    assert memory.get(added.id) == added
    assert [hit.id for hit in memory.search("Turin")] == [added.id]


def test_undoing_a_creation_takes_the_memory_out_of_retrieval(memory: FluxMem) -> None:
    added = memory.add("Ada lives in Turin.")
    memory.undo(memory.log()[0].id)
    assert memory.get(added.id).status is Status.DELETED
    assert memory.search("Turin") == ()


@pytest.mark.parametrize("kind", ["create", "update", "delete"])
def test_an_operation_can_be_undone_once(memory: FluxMem, kind: str) -> None:
    added = memory.add("one")
    steps: dict[str, Callable[[], Any]] = {
        "create": lambda: None,
        "update": lambda: memory.update(added.id, "two"),
        "delete": lambda: memory.delete(added.id),
    }
    steps[kind]()
    operation = memory.log()[0]
    assert operation.kind == kind
    memory.undo(operation.id)
    state = snapshot(memory)
    with pytest.raises(Conflict, match="undone already"):
        memory.undo(operation.id)
    with pytest.raises(Conflict, match="no undo"):
        memory.undo(memory.log()[0].id)
    assert snapshot(memory) == state
    assert unbroken(memory)


def test_an_operation_with_later_ones_waits_for_their_undo(memory: FluxMem) -> None:
    added = memory.add("one")
    memory.update(added.id, "two")
    memory.update(added.id, "three")
    third, second, first = memory.log(added.id)
    for early in (first, second):
        with pytest.raises(Conflict, match="later operations first"):
            memory.undo(early.id)
    for operation in (third, second, first):
        memory.undo(operation.id)
    assert unbroken(memory)


def test_an_undo_that_would_make_two_of_one_fact_is_refused(memory: FluxMem) -> None:
    added = memory.add("one")
    memory.update(added.id, "two")
    memory.add("one")
    state = snapshot(memory)
    [update, _] = memory.log(added.id)
    with pytest.raises(Conflict, match="nothing was changed"):
        memory.undo(update.id)
    assert snapshot(memory) == state


def test_the_log_is_read_newest_first_in_pages(memory: FluxMem) -> None:
    for n in range(5):
        memory.add(f"fact {n}")
    everything = memory.log()
    assert [operation.seq for operation in everything] == [5, 4, 3, 2, 1]
    assert memory.log(top=2) == everything[:2]
    assert memory.log(before_seq=4, top=2) == everything[2:4]
    assert {operation.actor for operation in everything} == {"test"}
