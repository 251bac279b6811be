"""Runs of tasks: start, step, feedback, end, and what similar observations bring back."""

import pytest

from fluxmem_graph import FluxMem, NewEpisode, NewMemory, NewStep
from fluxmem_graph.errors import Conflict, InvalidInput, NotFound
from fluxmem_graph.types import Layer, Status
from tests.integration.graphs import unbroken


def test_an_episode_reads_back_with_its_steps_in_order(memory: FluxMem) -> None:
    episode = memory.start_episode("count the medals", metadata={"file": "medals.csv"})
    memory.step(episode, "a table of athletes", "read_csv()")
    memory.step(episode, "40 rows", "group_by(athlete)")
    memory.feedback(episode, 0.5, "half right")
    memory.end_episode(episode, success=1.0, outcome="12 medals")
    assert memory.episode(episode) == NewEpisode(
        "count the medals",
        (
            NewStep("a table of athletes", "read_csv()"),
            NewStep("40 rows", "group_by(athlete)", "half right"),
        ),
        success=1.0,
        outcome="12 medals",
        metadata={"file": "medals.csv"},
    )
    assert [o.kind for o in reversed(memory.log())] == ["episode", "step", "step", "feedback", "end"]
    assert unbroken(memory)


def test_steps_are_chained_and_remember_what_their_context_held(memory: FluxMem) -> None:
    fact = memory.add("medals.csv has one row per medal")
    episode = memory.start_episode("count the medals")
    hits = memory.search("medals")
    steps = [memory.step(episode, f"observation {n}", activated=hits) for n in range(3)]
    rows = memory.database.call(
        "MATCH (s:Step {namespace: $namespace}) OPTIONAL MATCH (s)-[:NEXT]->(later) "
        "RETURN s.id AS id, later.id AS later, "
        "COLLECT { MATCH (s)-[a:ACTIVATED]->(m) RETURN [m.id, a.rank] } AS held ORDER BY s.index",
        namespace=memory.namespace,
    )
    assert [row["id"] for row in rows] == steps
    assert [row["later"] for row in rows] == [*steps[1:], None]
    assert {str(row["held"]) for row in rows} == {str([[fact.id, 1]])}


def test_a_running_episode_is_no_memory_yet_and_an_ended_one_is(memory: FluxMem) -> None:
    episode = memory.start_episode("count the medals per athlete")
    assert memory.get(episode).status is Status.CANDIDATE
    assert memory.activate("count the medals").episodes == ()
    memory.step(episode, "a table")
    memory.end_episode(episode)
    assert memory.get(episode).status is Status.ACTIVE
    [found] = memory.activate("count the medals").episodes
    assert (found.id, found.layer) == (episode, Layer.EPISODIC)
    assert memory.match(layer=Layer.EPISODIC)[0].id == episode


def test_facts_that_helped_come_back_with_a_similar_observation(memory: FluxMem) -> None:
    # Of equal texts, so that only the support tells them apart.
    helpful, useless = memory.add_many(
        [NewMemory("the separator is a semicolon", external_id=n, source="notes") for n in ("1", "2")]
    )
    for n in range(3):
        memory.add(f"unrelated note {n}")
    episode = memory.start_episode("count the medals per athlete")
    memory.step(episode, "a table of medals")
    memory.feedback(episode, 1.0, used=[helpful.id], unused=[useless.id])
    memory.end_episode(episode, 1.0)
    links = memory.database.call(
        "MATCH (m:Memory {namespace: $namespace})-[s:SUPPORTS]->(e) "
        "RETURN m.id AS id, e.id AS episode, s.successes AS successes, "
        "s.failures AS failures, s.weight AS weight",
        namespace=memory.namespace,
    )
    assert {(row["id"], row["successes"], row["failures"]) for row in links} == {
        (helpful.id, 1.0, 0.0),
        (useless.id, 0.0, 1.0),
    }
    assert all(row["episode"] == episode for row in links)
    weight = {row["id"]: row["weight"] for row in links}
    assert weight[useless.id] < 0.5 < weight[helpful.id]
    hits = {hit.id: hit for hit in memory.activate("count the medals per athlete").facts}
    assert any(episode in step for step in hits[helpful.id].path)
    assert hits[helpful.id].score > hits[useless.id].score


def test_only_facts_gain_support(memory: FluxMem) -> None:
    earlier = memory.start_episode("an earlier run")
    memory.end_episode(earlier)
    episode = memory.start_episode("a run")
    memory.step(episode, "seen")
    memory.feedback(episode, 1.0, used=[earlier])
    assert "SUPPORTS" not in memory.stats()["link"]


@pytest.mark.parametrize("success", [-0.1, 1.1, float("nan"), float("inf"), "good"])
def test_a_success_outside_0_to_1_is_refused(memory: FluxMem, success: float) -> None:
    episode = memory.start_episode("a task")
    memory.step(episode, "seen")
    with pytest.raises(InvalidInput, match="success"):
        memory.feedback(episode, success)
    with pytest.raises(InvalidInput, match="success"):
        memory.end_episode(episode, success)
    assert [o.kind for o in memory.log()] == ["step", "episode"]


def test_an_ended_episode_takes_nothing_more(memory: FluxMem) -> None:
    episode = memory.start_episode("a task")
    memory.step(episode, "seen")
    memory.end_episode(episode)
    state = memory.log()
    for call in (
        lambda: memory.step(episode, "again"),
        lambda: memory.feedback(episode, 1.0),
        lambda: memory.end_episode(episode),
    ):
        with pytest.raises(Conflict, match="start another"):
            call()
    assert memory.log() == state


def test_a_deleted_episode_stays_deleted(memory: FluxMem) -> None:
    episode = memory.start_episode("a task")
    memory.delete(episode)
    with pytest.raises(Conflict, match="deleted"):
        memory.end_episode(episode)
    assert memory.get(episode).status is Status.DELETED


def test_feedback_needs_a_step(memory: FluxMem) -> None:
    episode = memory.start_episode("a task")
    with pytest.raises(Conflict, match="no step"):
        memory.feedback(episode, 1.0)


def test_unknown_episodes_and_memories_are_named_and_nothing_is_written(memory: FluxMem) -> None:
    for call in (
        lambda: memory.step("nothing", "seen"),
        lambda: memory.feedback("nothing", 1.0),
        lambda: memory.end_episode("nothing"),
        lambda: memory.episode("nothing"),
    ):
        with pytest.raises(NotFound, match="nothing"):
            call()
    fact = memory.add("a fact")
    episode = memory.start_episode("a task")
    memory.step(episode, "seen")
    state = memory.log()
    with pytest.raises(NotFound, match="other-id"):
        memory.feedback(episode, 1.0, used=[fact.id], unused=["other-id"])
    assert memory.log() == state
    assert "SUPPORTS" not in memory.stats()["link"]
    with pytest.raises(NotFound, match=fact.id):
        memory.episode(fact.id)


def test_an_episode_is_not_edited_as_a_fact(memory: FluxMem) -> None:
    episode = memory.start_episode("a task")
    with pytest.raises(Conflict, match="only facts"):
        memory.update(episode, "another task")


def test_two_runs_of_one_task_are_two_episodes(memory: FluxMem) -> None:
    assert memory.start_episode("a task") != memory.start_episode("a task")
    assert memory.stats()["memory"] == {"episodic candidate": 2}
