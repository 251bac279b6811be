"""Undo of any operation, of a range and of a whole run gives back the exact graph."""

import json
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from hypothesis import example, given, settings

from fluxmem_graph import FluxMem, NewMemory
from fluxmem_graph.errors import Conflict, InvalidInput, NotFound
from fluxmem_graph.graph.database import Call, Row
from tests.integration.conftest import Tenants
from tests.integration.graphs import snapshot, unbroken
from tests.integration.histories import LONG, Change, apply, histories, play


@given(history=histories)
@example(history=LONG)
@settings(max_examples=4, deadline=None)
def test_undoing_a_history_backwards_passes_every_earlier_state(
    tenant: Tenants, history: list[Change]
) -> None:
    memory = tenant()
    states = {0: snapshot(memory)}
    for change in history:
        if change[0] != "undo":
            apply(memory, change)
            states[memory.log(top=1)[0].seq if memory.log(top=1) else 0] = snapshot(memory)
    for operation in memory.log(top=1000):
        if operation.seq in states:
            assert snapshot(memory) == states[operation.seq], operation.kind
        memory.undo(operation.id)
    assert snapshot(memory) == states[0] == []
    assert unbroken(memory)


@given(history=histories)
@example(history=LONG)
@settings(max_examples=3, deadline=None)
def test_undoing_a_range_gives_back_the_state_before_it(tenant: Tenants, history: list[Change]) -> None:
    memory = tenant()
    play(memory, LONG[:8])
    before, first = snapshot(memory), memory.log(top=1)[0].seq + 1
    play(memory, [change for change in history if change[0] != "undo"])
    last = memory.log(top=1)[0].seq
    if last < first:
        return
    undone = memory.undo_range(first, last, reason="a bad day")
    assert snapshot(memory) == before
    assert len(undone.operations) == last - first + 1
    assert {o.reason for o in memory.log(kinds=["undo"])} == {"a bad day"}
    assert memory.undo_range(first, memory.log(top=1)[0].seq).operations == ()


def test_undoing_an_ingest_takes_back_all_of_it_and_nothing_else(memory: FluxMem) -> None:
    memory.add("Tea is hot.", source="a.md")
    before = snapshot(memory)
    items = [NewMemory(f"turn {n}", str(n), "chat", session="1") for n in range(250)]
    report = memory.ingest([*items, NewMemory("Tea is hot.", source="chat")])
    assert {o.run_id for o in memory.log(kinds=["create"], run_id=report.run_id, top=500)} == {report.run_id}
    undone = memory.undo_run(report.run_id)
    assert len(undone.operations) == 251
    assert snapshot(memory) == before
    assert memory.undo_run(report.run_id).operations == ()


def test_a_run_of_which_one_fact_has_changed_since_stays_whole(memory: FluxMem) -> None:
    report = memory.ingest([NewMemory(f"fact {n}") for n in range(3)])
    memory.update(memory.match()[0].id, "changed")
    before = snapshot(memory), memory.log()
    with pytest.raises(Conflict, match=r"\(create\): the memory has changed since.*nothing was changed"):
        memory.undo_run(report.run_id)
    assert (snapshot(memory), memory.log()) == before


def test_what_another_source_has_cited_since_is_not_undone_under_it(memory: FluxMem) -> None:
    first = memory.ingest(
        [NewMemory("Tea is hot.", source="a.md"), NewMemory("Salt is white.", source="a.md")]
    )
    second = memory.ingest([NewMemory("Tea is hot.", source="b.md")])
    before = snapshot(memory)
    [created] = [o for o in memory.log(kinds=["create"]) if o.after and o.after["content"] == "Tea is hot."]
    with pytest.raises(Conflict, match="another source has cited it"):
        memory.undo(created.id)
    with pytest.raises(Conflict, match=r"another source has cited it.*nothing was changed"):
        memory.undo_run(first.run_id)
    assert snapshot(memory) == before
    memory.undo_run(second.run_id)
    memory.undo_run(first.run_id)
    assert snapshot(memory) == []
    # One that came back from another file.
    memory.add("Tea is hot.", source="c.md")
    revived = next(o for o in memory.log() if o.kind == "revive")
    with pytest.raises(Conflict, match="another source has cited it"):
        memory.undo(revived.id)
    assert len(memory.undo_range(revived.seq, memory.log(top=1)[0].seq).operations) == 2
    assert snapshot(memory) == []


def test_an_undo_in_a_range_is_refused_unless_its_operation_is_there_too(memory: FluxMem) -> None:
    memory.add("one")
    memory.undo(memory.log()[0].id)
    memory.add("two")
    with pytest.raises(Conflict, match=r"operation 2 .*an undo itself"):
        memory.undo_range(2, 3)
    assert len(memory.undo_range(1, 3).operations) == 1
    assert snapshot(memory) == []


def test_operations_that_are_gone_when_their_turn_comes_are_not_found(
    memory: FluxMem, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = memory.ingest([NewMemory(f"fact {n}") for n in range(3)])
    together = memory.database.together

    def erased_first(calls: Sequence[Call], /, **shared: Any) -> list[list[Row]]:
        memory.erase_namespace()
        return together(calls, **shared)

    monkeypatch.setattr(memory.database, "together", erased_first)
    with pytest.raises(NotFound, match="erased in namespace"):
        memory.undo_run(report.run_id)


@pytest.mark.parametrize("bounds", [(0, 1), (3, 2), (-1, -1)])
def test_a_range_that_is_none_is_refused(memory: FluxMem, bounds: tuple[int, int]) -> None:
    with pytest.raises(InvalidInput):
        memory.undo_range(*bounds)


def test_runs_and_ranges_that_are_not_there_are_not_found(memory: FluxMem, tenant: Tenants) -> None:
    report = tenant().ingest([NewMemory("theirs")])
    calls: list[Callable[[], object]] = [
        lambda: memory.undo_run(report.run_id),
        lambda: memory.undo_range(1, 9),
    ]
    for call in calls:
        with pytest.raises(NotFound, match="fluxmem log"):
            call()


def test_the_log_can_be_filtered(memory: FluxMem) -> None:
    first = memory.add("one")
    report = memory.ingest([NewMemory("two"), NewMemory("three")])
    memory.actor = "somebody"
    del memory._memories  # cached with the former actor
    memory.delete(first.id)
    everything = memory.log()
    assert [o.kind for o in memory.log(kinds=["delete"])] == ["delete"]
    assert memory.log(actor="somebody") == everything[:1]
    assert memory.log(run_id=report.run_id) == everything[1:3]
    assert memory.log(first.id, kinds=["create", "delete"]) == [everything[0], everything[3]]
    assert memory.log(since=everything[1].at, until=everything[1].at) == everything[1:3]
    assert memory.log(until=everything[3].at) == everything[3:]
    assert memory.log(kinds=["no such kind"]) == []


def test_a_second_source_is_an_operation_and_can_be_undone(memory: FluxMem) -> None:
    fact = memory.add("Tea is hot.", source="a.md")
    before = snapshot(memory)
    memory.add("Tea is hot.", source='the "second"\\one.md')
    [operation, _] = memory.log(fact.id)
    assert operation.kind == "source"
    assert operation.after == {"source": 'the "second"\\one.md', "key": fact.key}
    memory.add("Tea is hot.", source="a.md")
    assert len(memory.log()) == 2
    memory.undo(operation.id)
    assert snapshot(memory) == before


def test_an_ingest_cites_the_second_source_and_does_not_restore_what_was_edited(memory: FluxMem) -> None:
    memory.ingest([NewMemory("Tea is hot.", source="a.md"), NewMemory("Tea is hot.", source="b.md")])
    memory.ingest([NewMemory("Tea is hot.", source="c.md")])
    [fact] = memory.match()
    assert {r.name for r in memory.explain(fact.id) if r.type == "FROM"} == {"a.md", "b.md", "c.md"}
    memory.update(fact.id, "Tea is warm.")
    report = memory.ingest([NewMemory("Tea is hot.", source="a.md")])
    assert (report.created, report.unchanged) == (0, 1)
    assert [m.content for m in memory.match()] == ["Tea is warm."]


def test_split_and_merged_episodes_are_told_anew(memory: FluxMem) -> None:
    episode = memory.start_episode("make tea")
    for n in range(3):
        memory.step(episode, f"seen {n}", f"do {n}")
    memory.end_episode(episode, 1.0, "well")
    whole = memory.get(episode).content
    later = memory.split_episode(episode, 1)
    assert "do 1" not in memory.get(episode).content
    assert "do 1; do 2" in memory.get(later).content
    assert "100% success" in memory.get(later).content
    memory.merge_episodes(episode, later)
    assert memory.get(episode).content == whole


def test_the_log_holds_what_a_context_showed(memory: FluxMem) -> None:
    fact = memory.add("Tea is hot.")
    episode = memory.start_episode("make tea")
    memory.step(episode, "a kettle", activated=memory.search("tea"))
    [operation] = memory.log(kinds=["step"])
    assert operation.after is not None
    assert [shown["id"] for shown in operation.after["activated"]] == [fact.id]
    json.dumps(operation.after)
