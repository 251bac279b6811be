"""What quotes an erased text: cut short, as vectors, or as what an undo would bring back."""

import json

import pytest

from fluxmem_graph import FluxMem, NewEpisode, NewStep
from fluxmem_graph.errors import Conflict
from fluxmem_graph.operations.embedded import embed_episodes
from tests.integration.conftest import Tenants
from tests.integration.test_erasing import MARKER, SECRET, everything


def test_what_was_shortened_of_an_erased_text_goes_too(memory: FluxMem, tenant: Tenants) -> None:
    text = (
        "The key of the old house lies under the third stone on the left, behind the well of the garden, "
        'where the "grey cat" sleeps in the afternoon and nobody ever looks for anything at all.'
    )
    fact = memory.observe(text, external_id="1")
    quoted = (NewStep("a door", text), NewStep("a cat", f"tell(text={json.dumps(text)})"))
    lifted = tuple(NewStep("a stone", f"lift stone {n} of the wall") for n in range(19))
    for n in range(2):
        memory.ingest([NewEpisode("Find the key.", (*quoted, *lifted, *quoted), str(n), success=1.0)])
    memory.consolidate(apply=True, approve=True)
    assert memory.episode(fact.episode_id).task == f"{text[:59]}…"
    told = memory.get(next(e.id for e in memory.episodes() if e.task == "Find the key.")).content
    assert text[:20] in told[-80:] and told.endswith("…")
    [skill] = memory.skills()
    assert f"say: {text[:80]}" in skill.content and f'tell(text="{text[:80]}' in skill.content
    assert memory.erase_memory(fact.memory_id).left == ()
    assert "The key of the old" not in everything(memory)
    assert memory.episode(fact.episode_id).task == "[erased]"
    assert memory.replay(tenant().namespace).difference is None


def both_vectors(memory: FluxMem, episode: str) -> list[list[float]]:
    [row] = memory.database.call(
        "MATCH (m:Memory {namespace: $n, id: $id}) RETURN [m.embedding, m.trajectory_embedding] AS vectors",
        n=memory.namespace,
        id=episode,
    )
    return list(row["vectors"])


def assert_made_of_what_is_left(memory: FluxMem, episode: str) -> None:
    wanted = embed_episodes(memory.embedder, [memory.episode(episode)])
    for vector, [made] in zip(both_vectors(memory, episode), wanted, strict=True):
        assert vector == pytest.approx(made.tolist(), abs=1e-6)


def seen_in_a_run(memory: FluxMem) -> str:
    """Record a run in which a secret was seen, but not spoken of, and return its id."""
    episode = memory.start_episode("find the key")
    for observation in ("a door", "a garden", SECRET):
        memory.step(episode, observation, "look")
    memory.end_episode(episode, 1.0)
    return episode


def test_vectors_made_of_an_observation_are_made_anew(memory: FluxMem) -> None:
    fact, seen = memory.add(SECRET), seen_in_a_run(memory)
    running = memory.start_episode("find it again")
    memory.step(running, SECRET)
    before = both_vectors(memory, seen)
    assert memory.erase_memory(fact.id).left == ()
    assert both_vectors(memory, seen) != before
    assert_made_of_what_is_left(memory, seen)
    assert both_vectors(memory, running) == [None, None]
    assert memory.doctor().ok


def test_vectors_that_an_interrupted_erasure_left_are_seen_and_made_anew(
    memory: FluxMem, monkeypatch: pytest.MonkeyPatch
) -> None:
    fact, seen = memory.add(SECRET), seen_in_a_run(memory)

    def crash(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(type(memory.embedder), "embed", crash)
        with pytest.raises(KeyboardInterrupt):
            memory.erase_memory(fact.id)
    [vectors] = [check for check in memory.doctor().checks if check.name == "vectors"]
    assert not vectors.ok and seen in vectors.detail
    assert memory.erase_memory(fact.id).left == ()
    assert_made_of_what_is_left(memory, seen)
    assert memory.doctor().ok


@pytest.mark.parametrize("spoken", [True, False])
def test_no_undo_of_a_split_brings_an_erased_text_or_its_vectors_back(memory: FluxMem, spoken: bool) -> None:
    fact = memory.add(SECRET)
    whole = memory.start_episode("find the key")
    for n in range(2):
        memory.step(whole, f"a stone {n}", "lift it")
    memory.step(whole, *(("a well", SECRET) if spoken else (SECRET, "drink")))
    memory.end_episode(whole, 1.0)
    part = memory.split_episode(whole, 1)
    memory.split_episode(part, 1)
    assert memory.erase_memory(fact.id).left == ()
    assert MARKER not in everything(memory)
    rows = memory.database.call(
        "MATCH (o:Operation {namespace: $n})-[t:TOUCHED]->() WHERE t.embedding IS NOT NULL "
        "RETURN count(*) AS kept",
        n=memory.namespace,
    )
    assert rows == [{"kept": 0}]
    for operation in memory.log(kinds=["split"]):
        with pytest.raises(Conflict, match="erased"):
            memory.undo(operation.id)
    for episode in (whole, part):
        assert_made_of_what_is_left(memory, episode)


def test_no_undo_of_a_merge_brings_an_erased_outcome_back(memory: FluxMem) -> None:
    fact = memory.add(SECRET)
    first, second = memory.start_episode("find the key"), memory.start_episode("go home")
    for episode, outcome in ((first, SECRET), (second, "well")):
        memory.step(episode, "a door", "look")
        memory.end_episode(episode, 1.0, outcome)
    memory.merge_episodes(first, second)
    assert memory.erase_memory(fact.id).left == ()
    assert MARKER not in everything(memory)
    with pytest.raises(Conflict, match="erased"):
        memory.undo(memory.log(kinds=["merge"])[0].id)


def test_an_erased_part_of_a_run_does_not_come_back_with_the_whole(memory: FluxMem) -> None:
    whole = memory.start_episode("find the key")
    for action in ("look around", "dig under the third stone"):
        memory.step(whole, "a garden", action)
    memory.end_episode(whole, 1.0)
    part = memory.split_episode(whole, 1)
    memory.erase_memory(part)
    with pytest.raises(Conflict, match="erased"):
        memory.undo(memory.log(kinds=["split"])[0].id)
    assert "dig" not in memory.get(whole).content
