"""The links that feedback changes: in which order they come, and which feedback made them so."""

from dataclasses import dataclass

import pytest

from fluxmem_graph import FluxMem, NewMemory
from fluxmem_graph.errors import InvalidInput, NotFound
from fluxmem_graph.types import Link, LinkReason
from tests.integration.conftest import Tenants


@dataclass(frozen=True)
class Learned:
    """A namespace where a run has credited one fact twice, another once, and blamed a third."""

    memory: FluxMem
    episode: str
    proven: str
    helpful: str
    noise: str


@pytest.fixture
def learned(memory: FluxMem) -> Learned:
    proven, helpful, noise = memory.add_many(
        [NewMemory("Ada keeps bees."), NewMemory("The bees are in Turin."), NewMemory("Tea is hot.")]
    )
    episode = memory.start_episode("find the bees")
    memory.step(episode, "where are the bees?")
    memory.feedback(episode, 1.0, used=[proven.id, helpful.id])
    memory.step(episode, "whose bees?")
    memory.feedback(episode, 1.0, used=[proven.id], unused=[noise.id])
    return Learned(memory, episode, proven.id, helpful.id, noise.id)


def between(links: list[Link]) -> list[tuple[str, str, str]]:
    return [(link.type, link.id, link.other_id) for link in links]


def supporting(reasons: list[LinkReason], end: str) -> LinkReason:
    [found] = [reason for reason in reasons if reason.type == "SUPPORTS" and reason.id == end]
    return found


def test_the_strongest_come_first_or_last_or_the_newest(learned: Learned) -> None:
    memory, episode = learned.memory, learned.episode
    strongest = memory.links()
    assert between(strongest)[0] == ("SUPPORTS", learned.proven, episode)
    assert between(strongest)[-1] == ("SUPPORTS", learned.noise, episode)
    assert [link.weight for link in strongest] == sorted((link.weight for link in strongest), reverse=True)
    assert {link.type for link in strongest} == {"SUPPORTS", "ASSOCIATED"}
    weakest = memory.links("weakest")
    assert between(weakest)[0] == ("SUPPORTS", learned.noise, episode)
    assert [link.weight for link in weakest] == sorted(link.weight for link in weakest)
    newest = memory.links("newest", top=2)
    assert {link.id for link in newest} == {learned.proven, learned.noise}


def test_a_link_says_what_it_joins_and_counts(learned: Learned) -> None:
    link = learned.memory.links(top=1)[0]
    assert (link.name, link.other_name) == ("Ada keeps bees.", "find the bees")
    assert (link.successes, link.failures, link.origin, link.tentative) == (2.0, 0.0, "feedback", False)
    assert link.weight == pytest.approx(0.75)
    assert link.updated_at is not None


def test_links_of_what_was_deleted_are_left_out(learned: Learned) -> None:
    memory = learned.memory
    memory.delete(learned.noise)
    assert learned.noise not in {link.id for link in memory.links(top=100)}
    memory.delete(learned.episode)
    assert {link.type for link in memory.links()} == {"ASSOCIATED"}


def test_an_unknown_order_is_refused(memory: FluxMem) -> None:
    with pytest.raises(InvalidInput, match="strongest, newest, weakest"):
        memory.links("loudest")  # type: ignore[arg-type]


def test_a_fact_names_every_feedback_that_made_its_link(learned: Learned) -> None:
    link = supporting(learned.memory.explain(learned.proven), learned.episode)
    assert (link.direction, link.layer, link.name) == ("out", "episodic", "find the bees")
    assert [(vote.kind, vote.gain, vote.loss, vote.undone) for vote in link.feedback] == [
        ("feedback", 1.0, 0.0, False),
        ("feedback", 1.0, 0.0, False),
    ]
    operations = {o.id: o for o in learned.memory.log()}
    for vote in link.feedback:
        operation = operations[vote.operation]
        assert (vote.seq, vote.at, vote.actor) == (operation.seq, operation.at, operation.actor)
    assert link.feedback[0].seq > link.feedback[1].seq


def test_an_episode_sees_the_same_links_from_its_side(learned: Learned) -> None:
    reasons = learned.memory.explain(learned.episode)
    noise = supporting(reasons, learned.noise)
    assert (noise.direction, noise.failures) == ("in", 1.0)
    assert [(vote.gain, vote.loss) for vote in noise.feedback] == [(0.0, 1.0)]
    [here] = noise.feedback
    [there] = supporting(learned.memory.explain(learned.noise), learned.episode).feedback
    assert here == there


def test_facts_used_together_are_linked_by_that_feedback_from_both_sides(learned: Learned) -> None:
    sides = [
        [reason for reason in learned.memory.explain(id_) if reason.type == "ASSOCIATED"]
        for id_ in (learned.proven, learned.helpful)
    ]
    [[one], [other]] = sides
    assert {one.id, other.id} == {learned.proven, learned.helpful}
    assert {one.direction, other.direction} == {"in", "out"}
    assert one.feedback == other.feedback
    assert [(vote.gain, vote.loss) for vote in one.feedback] == [(1.0, 0.0)]


def test_a_failure_and_what_was_missing_are_told(memory: FluxMem) -> None:
    fact = memory.add("The separator of medals.csv is a semicolon.")
    memory.add("Tea is hot.")
    episode = memory.start_episode("read the table")
    memory.step(episode, "one column only")
    memory.feedback(episode, 0.0, "the separator is a semicolon")
    kinds = {
        reason.type: {(vote.kind, vote.reason) for vote in reason.feedback}
        for reason in memory.explain(fact.id)
        if reason.id == episode
    }
    assert kinds == {
        "SUPPORTS": {("expand", "the separator is a semicolon")},
        "ASSOCIATED": {("expand", "the separator is a semicolon")},
    }


def test_undone_feedback_stays_visible_and_is_marked(learned: Learned) -> None:
    memory = learned.memory
    latest = supporting(memory.explain(learned.proven), learned.episode).feedback[0]
    memory.undo(latest.operation)
    link = supporting(memory.explain(learned.proven), learned.episode)
    assert [vote.undone for vote in link.feedback] == [True, False]
    assert link.successes == sum(vote.gain for vote in link.feedback if not vote.undone) == 1.0


def test_links_that_do_not_evolve_are_listed_after_those_that_do(memory: FluxMem) -> None:
    memory.ingest(
        NewMemory("Ada lives in Turin.", external_id=n, source="talk", session="1", title="Ada Lovelace")
        for n in ("1", "2")
    )
    first, second = sorted(memory.match(), key=lambda fact: fact.external_id or "")
    memory.update(second.id, "Ada lives in Rome.")
    episode = memory.start_episode("find Ada")
    memory.step(episode, "where?")
    memory.feedback(episode, 1.0, used=[second.id])
    reasons = memory.explain(second.id)
    found = {(r.type, r.direction, r.layer, r.name) for r in reasons}
    assert found >= {
        ("SUPPORTS", "out", "episodic", "find Ada"),
        ("NEXT", "in", "semantic", "Ada Lovelace"),
        ("FROM", "out", "source", "talk"),
        ("ABOUT", "out", "entity", "Ada Lovelace"),
        ("SUPERSEDES", "out", "semantic", "Ada Lovelace"),
    }
    assert reasons[0].type == "SUPPORTS"
    assert all(r.weight is None and r.feedback == () for r in reasons[1:])
    assert [r.id for r in memory.explain(first.id) if r.type == "NEXT"] == [second.id]


def test_a_rewriting_is_linked_to_what_it_stands_for(memory: FluxMem) -> None:
    long = memory.add("The table is wide. " * 30 + "The separator is a semicolon. " + "It has rows. " * 30)
    episode = memory.start_episode("read the table")
    memory.step(episode, "which separator?", activated=memory.search("separator"))
    [rewriting] = memory.feedback(episode, 0.0, "the separator", too_coarse=[long.id]).reshaped
    [link] = [r for r in memory.explain(long.id) if r.type == "RESHAPES"]
    assert (link.direction, link.id) == ("in", rewriting)
    [back] = [r for r in memory.explain(rewriting) if r.type == "RESHAPES"]
    assert (back.direction, back.id) == ("out", long.id)


def test_a_memory_without_links_has_nothing_to_explain(memory: FluxMem) -> None:
    assert memory.explain(memory.add("tea is hot").id) == []


def test_unknown_ids_and_other_tenants_are_not_found(learned: Learned, tenant: Tenants) -> None:
    other = tenant()
    assert other.links() == []
    for id_ in ("no-such-id", learned.proven, learned.episode):
        with pytest.raises(NotFound, match=id_):
            other.explain(id_)
