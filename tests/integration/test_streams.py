"""Streams of messages without declared tasks: what opens and closes, and corrections of boundaries."""

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fluxmem_graph import FluxMem, NewEpisode, NewStep
from fluxmem_graph.errors import Conflict, InvalidInput, NotFound
from fluxmem_graph.types import NewMemory, Observed, Status
from tests.integration.conftest import Tenants
from tests.integration.graphs import snapshot, unbroken

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
TEA = [
    "green tea steeps for two minutes in hot water",
    "black tea steeps for four minutes in hot water",
    "white tea steeps for five minutes in hot water",
    "green tea wants cooler hot water than black tea",
]
BIKE = "my bicycle chain squeaks and its brakes rub"


def strict(memory: FluxMem, **rules: Any) -> FluxMem:
    """Return a memory of the same namespace, as another process with other rules would have it."""
    stream = memory.settings.stream.model_copy(update=rules)
    changed = memory.settings.model_copy(update={"stream": stream})
    return FluxMem(memory.database, memory.schema, memory.embedder, None, changed, "other process")


def talk(memory: FluxMem, texts: Sequence[str], **how: Any) -> list[Observed]:
    return [memory.observe(text, occurred_at=NOON, **how) for text in texts]


def observations(memory: FluxMem, episode_id: str) -> list[str]:
    return [step.observation for step in memory.episode(episode_id).steps]


def test_the_first_message_opens_an_episode_and_the_next_ones_join_it(memory: FluxMem) -> None:
    first, second = talk(memory, TEA[:2], speaker="Ada")
    assert first == Observed(first.memory_id, first.episode_id, opened=True, closed=None, why="first")
    assert second == Observed(second.memory_id, first.episode_id, opened=False, closed=None, why="")
    assert memory.get(first.episode_id).status is Status.CANDIDATE
    assert observations(memory, first.episode_id) == [f"Ada: {text}" for text in TEA[:2]]
    assert memory.get(first.memory_id).content == TEA[0]
    assert memory.get(first.memory_id).speaker == "Ada"
    assert memory.search("green tea")[0].id == first.memory_id
    assert unbroken(memory)


def test_a_message_is_a_fact_of_its_stream_joined_to_its_step_and_to_the_message_before(
    memory: FluxMem,
) -> None:
    seen = talk(memory, [*TEA[:3], TEA[0]], stream="kitchen")
    memory.observe(BIKE, occurred_at=NOON, stream="garage")
    rows = memory.database.call(
        "MATCH (m:Memory:Semantic {namespace: $namespace})-[:FROM]->(s:Source {uri: 'kitchen'}) "
        "RETURN m.id AS id, m.session AS session, "
        "COLLECT { MATCH (m)-[:NEXT]->(n) RETURN n.id } AS next, "
        "COLLECT { MATCH (m)<-[a:ACTIVATED]-(step) RETURN [step.index, a.rank] } AS steps "
        "ORDER BY steps[0][0]",
        namespace=memory.namespace,
    )
    ids = [observed.memory_id for observed in seen]
    assert len(set(ids)) == 4  # the same words at another time are another message
    assert [row["id"] for row in rows] == ids
    assert [row["next"] for row in rows] == [*([later] for later in ids[1:]), []]
    assert [row["steps"] for row in rows] == [[[n, 0]] for n in range(4)]
    assert {row["session"] for row in rows} == {"kitchen"}


def test_a_mark_ends_the_open_episode_which_is_named_after_its_first_message(memory: FluxMem) -> None:
    first = talk(memory, TEA[:2])[0]
    marked = memory.observe(TEA[2], occurred_at=NOON, mark=True)
    assert (marked.opened, marked.closed, marked.why) == (True, first.episode_id, "mark")
    assert memory.get(first.episode_id).status is Status.ACTIVE
    assert memory.episode(first.episode_id).task == TEA[0]
    assert [hit.id for hit in memory.activate(TEA[0]).episodes] == [first.episode_id]
    assert unbroken(memory)


def test_idle_time_ends_an_episode_and_the_order_of_messages_goes_on(memory: FluxMem) -> None:
    first = memory.observe(TEA[0], occurred_at=NOON)
    near = memory.observe(TEA[1], occurred_at=NOON + timedelta(minutes=29))
    late = memory.observe(TEA[2], occurred_at=NOON + timedelta(minutes=59))
    assert (near.episode_id, near.why) == (first.episode_id, "")
    assert (late.closed, late.why) == (first.episode_id, "idle")
    rows = memory.database.call(
        "MATCH (:Memory {namespace: $namespace, id: $id})-[:NEXT]->(n) RETURN n.id AS id",
        namespace=memory.namespace,
        id=near.memory_id,
    )
    assert [row["id"] for row in rows] == [late.memory_id]


def test_a_message_without_a_time_comes_now(memory: FluxMem) -> None:
    memory.observe(TEA[0], occurred_at=datetime.now(UTC) - timedelta(hours=1))
    assert memory.observe(TEA[1]).why == "idle"
    assert memory.observe(TEA[2]).why == ""


def test_a_topic_shift_ends_an_episode_that_is_long_enough(memory: FluxMem) -> None:
    watchful = strict(memory, similarity=0.4, window=3, shortest=4)
    first = talk(watchful, TEA)[0]
    assert {observed.episode_id for observed in talk(watchful, TEA[:1])} == {first.episode_id}
    shifted = watchful.observe(BIKE, occurred_at=NOON)
    assert (shifted.closed, shifted.why) == (first.episode_id, "topic shift")
    # The new one is too short to have a topic.
    assert watchful.observe(TEA[0], occurred_at=NOON).episode_id == shifted.episode_id


def test_streams_do_not_end_each_others_episodes(memory: FluxMem) -> None:
    kitchen = memory.observe(TEA[0], occurred_at=NOON, stream="kitchen")
    garage = memory.observe(BIKE, occurred_at=NOON + timedelta(days=1), stream="garage")
    again = memory.observe(TEA[1], occurred_at=NOON, stream="kitchen")
    assert garage.closed is None
    assert again.episode_id == kitchen.episode_id != garage.episode_id


def test_a_restart_goes_on_where_it_was(memory: FluxMem) -> None:
    first = talk(memory, TEA[:1])[0]
    assert strict(memory).observe(TEA[1], occurred_at=NOON).episode_id == first.episode_id


def test_an_episode_ended_by_hand_is_not_gone_on_with(memory: FluxMem) -> None:
    first = talk(memory, TEA[:1])[0]
    memory.end_episode(first.episode_id)
    second = talk(memory, TEA[1:2])[0]
    assert (second.why, second.closed) == ("first", None)
    memory.delete(second.episode_id)
    assert talk(memory, TEA[2:3])[0].why == "first"
    assert unbroken(memory)


def test_the_same_external_id_again_changes_nothing(memory: FluxMem) -> None:
    first = memory.observe(TEA[0], external_id="m1", occurred_at=NOON)
    talk(memory, TEA[1:2])
    before = (snapshot(memory), memory.log())
    again = memory.observe(TEA[0], external_id="m1", occurred_at=NOON + timedelta(days=9), mark=True)
    assert again == Observed(first.memory_id, first.episode_id, opened=False, closed=None, why="")
    with pytest.raises(Conflict, match="m1"):
        memory.observe(TEA[2], external_id="m1", occurred_at=NOON)
    assert (snapshot(memory), memory.log()) == before


def test_a_fact_that_was_loaded_before_is_observed_once(memory: FluxMem) -> None:
    fact = memory.add(TEA[0], external_id="m1", source="default")
    first = memory.observe(TEA[0], external_id="m1")
    assert (first.memory_id, first.opened) == (fact.id, True)
    assert memory.observe(TEA[0], external_id="m1").opened is False
    assert observations(memory, first.episode_id) == [TEA[0]]
    assert memory.stats()["memory"] == {"episodic candidate": 1, "semantic active": 1}


def test_many_processes_share_one_open_episode_and_lose_no_message(memory: FluxMem) -> None:
    processes = [strict(memory) for _ in range(4)]

    def send(n: int) -> Observed:
        return processes[n % 4].observe(f"message number {n}", external_id=str(n // 2), occurred_at=NOON)

    texts = [f"message number {n}" for n in range(0, 12, 2)]
    with ThreadPoolExecutor(4) as pool:
        done = list(pool.map(lambda n: send(2 * (n // 2)), range(12)))
    assert {observed.episode_id for observed in done} == {done[0].episode_id}
    assert sum(observed.opened for observed in done) == 1
    assert sorted(observations(memory, done[0].episode_id)) == sorted(texts)
    assert unbroken(memory)


@pytest.mark.parametrize(
    "wrong", [{"text": ""}, {"text": " \n"}, {"text": "a\x00b"}, {"stream": ""}, {"external_id": ""}]
)
def test_what_can_not_be_stored_is_refused_and_changes_nothing(
    memory: FluxMem, wrong: dict[str, str]
) -> None:
    talk(memory, TEA[:1])
    state = memory.log()
    with pytest.raises(InvalidInput):
        memory.observe(**{"text": TEA[1], **wrong})  # type: ignore[arg-type]
    assert memory.log() == state


def test_recent_episodes_are_listed_newest_first(memory: FluxMem, tenant: Tenants) -> None:
    first = talk(memory, TEA[:3])[0]
    second = talk(memory, [BIKE], mark=True)[0]
    newest, oldest = memory.episodes()
    assert (newest.id, newest.task, newest.steps, newest.ended_at) == (second.episode_id, BIKE, 1, None)
    assert (oldest.id, oldest.steps, oldest.source) == (first.episode_id, 3, "default")
    assert oldest.ended_at is not None
    assert [episode.id for episode in memory.episodes(top=1)] == [newest.id]
    memory.delete(newest.id)
    assert [episode.id for episode in memory.episodes()] == [oldest.id]
    assert tenant().episodes() == []
    with pytest.raises(InvalidInput, match="top"):
        memory.episodes(top=0)


def ended(memory: FluxMem, texts: Sequence[str], success: float | None = 1.0) -> str:
    episode = memory.start_episode(texts[0] if texts else "nothing", metadata={"kind": "talk"})
    for text in texts:
        memory.step(episode, text, f"do {text}")
    memory.end_episode(episode, success, "well")
    return episode


def chain(memory: FluxMem, episode_id: str) -> list[tuple[int, str, str | None]]:
    """Return index, observation and the observation that NEXT leads to."""
    rows = memory.database.call(
        "MATCH (:Memory {namespace: $namespace, id: $id})-[:HAS_STEP]->(s) "
        "OPTIONAL MATCH (s)-[:NEXT]->(n) "
        "RETURN s.index AS i, s.observation AS o, n.observation AS n ORDER BY i",
        namespace=memory.namespace,
        id=episode_id,
    )
    return [(row["i"], row["o"], row["n"]) for row in rows]


def test_a_split_moves_the_steps_from_there_on_into_an_episode_that_ended_alike(memory: FluxMem) -> None:
    episode = ended(memory, ["a", "b", "c", "d"])
    later = memory.split_episode(episode, 1, reason="two topics")
    assert chain(memory, episode) == [(0, "a", None)]
    assert chain(memory, later) == [(0, "b", "c"), (1, "c", "d"), (2, "d", None)]
    steps = tuple(NewStep(text, f"do {text}") for text in "bcd")
    assert memory.episode(later) == NewEpisode(
        "b", steps, success=1.0, outcome="well", metadata={"kind": "talk"}
    )
    assert memory.get(later).status is Status.ACTIVE
    assert memory.activate("b\nc").episodes[0].id == later
    [operation] = memory.log(later)
    assert (operation.kind, operation.reason) == ("split", "two topics")
    assert operation.before and operation.after
    assert len(operation.before["steps"]) == 4
    assert [len(operation.after[part]["steps"]) for part in ("first", "second")] == [1, 3]
    assert unbroken(memory)


def test_a_merge_appends_the_second_and_deletes_it(memory: FluxMem) -> None:
    first, second = ended(memory, ["a", "b"], 0.0), ended(memory, ["c"], 1.0)
    memory.merge_episodes(first, second, reason="one topic")
    assert chain(memory, first) == [(0, "a", "b"), (1, "b", "c"), (2, "c", None)]
    assert memory.episode(first).success == 1.0
    assert memory.get(second).status is Status.DELETED
    assert [hit.id for hit in memory.activate("c").episodes] == [first]
    operation = memory.log(first)[0]
    assert (operation.kind, operation.touched) == ("merge", tuple(sorted((first, second))))
    assert operation.before and operation.after
    assert (operation.before["first"]["success"], len(operation.after["steps"])) == (0.0, 3)
    assert unbroken(memory)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.data())
def test_a_split_and_a_merge_are_inverse(memory: FluxMem, data: st.DataObject) -> None:
    texts = data.draw(st.lists(st.sampled_from("abc"), min_size=2, max_size=6))
    at = data.draw(st.integers(1, len(texts) - 1))
    episode = ended(memory, texts)
    whole, before = chain(memory, episode), snapshot(memory)
    later = memory.split_episode(episode, at)
    parts = chain(memory, episode), chain(memory, later)
    memory.merge_episodes(episode, later)
    assert chain(memory, episode) == whole
    assert snapshot(memory) == before
    again = memory.split_episode(episode, at)
    assert (chain(memory, episode), chain(memory, again)) == parts


def votes(memory: FluxMem, episode_id: str) -> dict[str, tuple[float, float]]:
    rows = memory.database.call(
        "MATCH (m)-[s:SUPPORTS]->(:Memory {namespace: $namespace, id: $id}) "
        "RETURN m.content AS text, s.successes AS won, s.failures AS lost",
        namespace=memory.namespace,
        id=episode_id,
    )
    return {row["text"]: (row["won"], row["lost"]) for row in rows}


def voted(memory: FluxMem, text: str, used: Sequence[str], unused: Sequence[str]) -> tuple[str, str]:
    """Return an ended episode and the operation of its feedback."""
    episode = memory.start_episode(text)
    memory.step(episode, text)
    memory.feedback(episode, 1.0, used=used, unused=unused)
    operation = next(o for o in memory.log(episode) if o.kind == "feedback")
    memory.end_episode(episode)
    return episode, operation.id


def test_votes_stay_at_a_split_and_add_up_at_merges_where_undo_still_finds_them(memory: FluxMem) -> None:
    one, two = memory.add_many([NewMemory("fact one"), NewMemory("fact two")])
    first, _ = voted(memory, "a", [one.id], [])
    second, feedback = voted(memory, "b", [one.id], [two.id])
    memory.merge_episodes(first, second)
    assert votes(memory, first) == {"fact one": (2.0, 0.0), "fact two": (0.0, 1.0)}
    assert votes(memory, second) == {}
    zeroth = ended(memory, ["z"])
    memory.merge_episodes(zeroth, first)
    later = memory.split_episode(zeroth, 1)
    assert votes(memory, zeroth) == {"fact one": (2.0, 0.0), "fact two": (0.0, 1.0)}
    assert votes(memory, later) == {}
    memory.undo(feedback)
    assert votes(memory, zeroth) == {"fact one": (1.0, 0.0)}


def test_a_stream_goes_on_after_its_episodes_were_corrected(memory: FluxMem) -> None:
    first, second = (talk(memory, [text], mark=True)[0] for text in TEA[:2])
    memory.end_episode(second.episode_id)
    memory.merge_episodes(first.episode_id, second.episode_id)
    later = memory.split_episode(first.episode_id, 1)
    third = talk(memory, TEA[2:3])[0]
    assert (third.why, third.opened) == ("first", True)
    assert third.episode_id not in (first.episode_id, second.episode_id, later)
    assert unbroken(memory)


Correct = Callable[[FluxMem, str], object]
CORRECTIONS: list[Correct] = [
    lambda memory, episode: memory.split_episode(episode, 1),
    lambda memory, episode: memory.merge_episodes(episode, ended(memory, ["x"])),
    lambda memory, episode: memory.merge_episodes(ended(memory, ["x"]), episode),
]


@pytest.mark.parametrize("correct", CORRECTIONS)
def test_only_ended_episodes_of_ones_own_can_be_corrected(
    memory: FluxMem, tenant: Tenants, correct: Correct
) -> None:
    foreign = ended(tenant(), ["a", "b"])
    running = talk(memory, TEA[:3])[0].episode_id
    deleted = ended(memory, ["a", "b"])
    memory.delete(deleted)
    fact = memory.add("a fact")
    for episode, error, words in (
        ("nothing", NotFound, "nothing"),
        (foreign, NotFound, foreign),
        (fact.id, NotFound, fact.id),
        (running, Conflict, "running"),
        (deleted, Conflict, "deleted"),
    ):
        with pytest.raises(error, match=words):
            correct(memory, episode)
    assert {o.kind for o in memory.log()}.isdisjoint({"split", "merge"})


@pytest.mark.parametrize("at", [-1, 0, 3, 4, 1.0, True, "1", None])
def test_a_split_outside_the_steps_is_refused(memory: FluxMem, at: Any) -> None:
    episode = ended(memory, ["a", "b", "c"])
    state = memory.log()
    with pytest.raises(InvalidInput, match=r"1\.\.2"):
        memory.split_episode(episode, at)
    assert memory.log() == state


def test_a_single_step_can_not_be_split_nor_an_episode_merged_with_itself(memory: FluxMem) -> None:
    episode = ended(memory, ["a"])
    with pytest.raises(InvalidInput, match="no place"):
        memory.split_episode(episode, 1)
    with pytest.raises(InvalidInput, match="itself"):
        memory.merge_episodes(episode, episode)


def test_an_episode_without_steps_can_be_merged(memory: FluxMem) -> None:
    empty, full = ended(memory, []), ended(memory, ["a"])
    memory.merge_episodes(empty, full)
    assert chain(memory, empty) == [(0, "a", None)]


def test_steps_without_words_name_no_episode(memory: FluxMem) -> None:
    episode = memory.start_episode("the task")
    for text in ("a", "", "\u200b"):
        memory.step(episode, text)
    memory.end_episode(episode)
    assert memory.episode(memory.split_episode(episode, 1)).task == "the task"
