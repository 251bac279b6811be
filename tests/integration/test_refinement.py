"""Stage II: what feedback does to links, and what the next activation brings back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fluxmem_graph import FluxMem, NewMemory
from fluxmem_graph.errors import Conflict, InvalidInput, LLMError, NotFound
from fluxmem_graph.llm import ScriptedLLM
from fluxmem_graph.retrieval.context import Context
from fluxmem_graph.stages.attribution import Judgement
from fluxmem_graph.types import Blame, Hit, Outcome, Status
from tests.integration.conftest import Tenants
from tests.integration.graphs import snapshot, unbroken

TASK = "how are the medals counted"
CORRECTION = "the separator is a semicolon"


def notes(memory: FluxMem) -> dict[str, str]:
    """Store what a search for TASK finds, and what only the correction leads to; return ids by content."""
    texts = [f"medals are counted in table {n}" for n in range(12)]
    texts += [f"{CORRECTION} in that file", "the weather is fine"]
    added = memory.add_many([NewMemory(text, external_id=str(n)) for n, text in enumerate(texts)])
    return {memory.content: memory.id for memory in added}


def failed_step(memory: FluxMem, **report: object) -> tuple[str, tuple[Hit, ...]]:
    """Run one step of TASK that fails; return the episode and what it was shown."""
    episode = memory.start_episode(TASK)
    shown = memory.activate(TASK).facts
    memory.step(episode, TASK, activated=shown)
    memory.feedback(episode, 0.0, **report)  # type: ignore[arg-type]
    return episode, shown


def links(memory: FluxMem) -> dict[str, list[tuple[str, float, float]]]:
    """Return SUPPORTS and ASSOCIATED as (content of the fact, successes, failures) by type."""
    rows = memory.database.call(
        "MATCH (m:Memory {namespace: $namespace})-[l:SUPPORTS|ASSOCIATED]->() "
        "RETURN type(l) AS type, m.content AS fact, l.successes AS s, l.failures AS f ORDER BY fact",
        namespace=memory.namespace,
    )
    found: dict[str, list[tuple[str, float, float]]] = {}
    for row in rows:
        found.setdefault(row["type"], []).append((row["fact"], row["s"], row["f"]))
    return found


# What a failure teaches.


def test_a_correction_brings_the_missing_fact_at_once_and_for_similar_tasks(memory: FluxMem) -> None:
    missing = notes(memory)[f"{CORRECTION} in that file"]
    assert missing not in [hit.id for hit in memory.activate(TASK).facts]
    episode, _ = failed_step(memory, text=CORRECTION)
    assert missing in [hit.id for hit in memory.activate(TASK, episode_id=episode).facts]
    memory.end_episode(episode, 0.0)
    again = {hit.id: hit for hit in memory.activate(TASK).facts}
    assert missing in again
    assert any(episode in step for step in again[missing].path)


def test_feedback_says_what_it_changed_and_who_decided(memory: FluxMem) -> None:
    missing = notes(memory)[f"{CORRECTION} in that file"]
    episode = memory.start_episode(TASK)
    memory.step(episode, TASK, activated=memory.activate(TASK).facts)
    made = memory.feedback(episode, 0.0, CORRECTION)
    assert (made.by, made.blame, made.pruned) == ("rules", (Blame.MISSING_LINK,), ())
    assert missing in made.expanded
    assert [o.kind for o in memory.log(top=2)] == ["expand", "feedback"]
    assert len({o.run_id for o in memory.log(top=2)}) == 1
    assert unbroken(memory)


def test_what_the_agent_reports_unused_is_weakened_and_hidden_but_kept(memory: FluxMem) -> None:
    notes(memory)
    episode = memory.start_episode(TASK)
    shown = memory.activate(TASK).facts
    memory.step(episode, TASK, activated=shown)
    made = memory.feedback(episode, 0.0, unused=[shown[0].id])
    assert (made.pruned, made.blame) == ((shown[0].id,), (Blame.NOISY_LINK,))
    assert links(memory) == {"SUPPORTS": [(shown[0].content, 0.0, 1.0)]}
    assert shown[0].id not in [hit.id for hit in memory.activate(TASK, episode_id=episode).facts]
    assert shown[0].id in [hit.id for hit in memory.activate(TASK).facts]
    assert memory.get(shown[0].id).status is Status.ACTIVE


def test_a_success_frees_what_failures_hid(memory: FluxMem) -> None:
    notes(memory)
    episode, shown = failed_step(memory)
    memory.step(episode, TASK, activated=shown)
    memory.feedback(episode, 0.0, unused=[shown[0].id])
    memory.step(episode, TASK, activated=shown[1:])
    memory.feedback(episode, 1.0)
    assert shown[0].id in [hit.id for hit in memory.activate(TASK, episode_id=episode).facts]


def test_facts_used_together_are_associated_at_most_ten_pairs(memory: FluxMem) -> None:
    ids = list(notes(memory).values())
    episode = memory.start_episode(TASK)
    memory.step(episode, TASK)
    memory.feedback(episode, 1.0, used=ids[:7])
    found = links(memory)
    assert len(found["SUPPORTS"]) == 7
    assert len(found["ASSOCIATED"]) == 10
    assert {pair[1:] for pair in found["ASSOCIATED"]} == {(1.0, 0.0)}


def test_a_failure_without_any_report_changes_no_link(memory: FluxMem) -> None:
    notes(memory)
    failed_step(memory)
    assert links(memory) == {}


def test_tentative_links_fade_with_time_and_nothing_is_deleted(memory: FluxMem) -> None:
    missing = notes(memory)[f"{CORRECTION} in that file"]
    episode, _ = failed_step(memory, text=CORRECTION)
    memory.end_episode(episode)
    memory.database.call(
        "MATCH (:Memory {namespace: $namespace})-[l:SUPPORTS]->() DELETE l", namespace=memory.namespace
    )

    def spread() -> float:
        [hit] = [hit for hit in memory.activate(TASK, top_k=14).facts if hit.id == missing]
        return hit.signals.spread or 0.0

    fresh, before = spread(), links(memory)
    memory.database.call(
        "MATCH (:Memory {namespace: $namespace})-[l:ASSOCIATED]->() "
        "SET l.updated_at = datetime() - duration({days: 90})",
        namespace=memory.namespace,
    )
    assert spread() == pytest.approx(fresh / 2)
    assert links(memory) == before


def test_a_weight_of_zero_switches_learning_off(memory: FluxMem) -> None:
    notes(memory)
    before = memory.activate(TASK).facts
    episode, _ = failed_step(memory, text=CORRECTION)
    memory.end_episode(episode)
    assert memory.activate(TASK).facts != before
    off = memory.settings.retrieval.model_copy(update={"support": 0.0, "topic": 0.0})
    settings = memory.settings.model_copy(update={"retrieval": off})
    frozen = FluxMem(memory.database, memory.schema, memory.embedder, None, settings, memory.actor)
    assert frozen.activate(TASK).facts == before


def test_what_was_noise_is_not_credited_by_the_same_feedback(memory: FluxMem) -> None:
    noise = notes(memory)[f"{CORRECTION} in that file"]
    episode = memory.start_episode(TASK)
    memory.step(episode, TASK, activated=memory.activate(CORRECTION).facts)
    memory.feedback(episode, 0.2, CORRECTION, unused=[noise])
    counts = [(s, f) for fact, s, f in links(memory)["SUPPORTS"] if fact == f"{CORRECTION} in that file"]
    assert counts == [(0.0, 1.0)]


# The loop.


def test_a_task_that_fails_once_then_succeeds_runs_twice(memory: FluxMem) -> None:
    notes(memory)
    seen: list[Context] = []

    def execute(context: Context) -> Outcome:
        seen.append(context)
        return Outcome(float(CORRECTION in context.text), CORRECTION)

    done = memory.refine(TASK, execute)
    assert (len(seen), done.success, len(done.rounds)) == (2, True, 2)
    episode = memory.episode(done.episode_id)
    assert (episode.success, [step.feedback for step in episode.steps]) == (1.0, [CORRECTION, CORRECTION])


def test_a_task_that_never_succeeds_runs_once_more_than_its_rounds(memory: FluxMem) -> None:
    notes(memory)
    seen: list[tuple[str, ...]] = []

    def execute(context: Context) -> Outcome:
        seen.append(context.cited)
        return Outcome(0.0, "no")

    done = memory.refine(TASK, execute, max_rounds=3)
    assert (len(seen), done.success) == (4, False)
    assert seen[1] != seen[2]
    assert memory.episode(done.episode_id).success == 0.0
    rounds = memory.database.call(
        "MATCH (:Memory {namespace: $namespace})-[:HAS_STEP]->(s)-[a:ACTIVATED]->() "
        "RETURN s.index AS index, collect(DISTINCT a.round) AS rounds ORDER BY index",
        namespace=memory.namespace,
    )
    assert [row["rounds"] for row in rounds] == [[0], [1], [2], [3]]


def test_an_error_of_the_agent_is_a_recorded_failure(memory: FluxMem) -> None:
    notes(memory)

    def execute(context: Context) -> Outcome:
        raise KeyError("no column athlete")

    done = memory.refine(TASK, execute, max_rounds=1)
    assert (done.success, len(done.rounds)) == (False, 2)
    assert "KeyError: 'no column athlete'" in memory.episode(done.episode_id).steps[0].action
    assert links(memory) == {}


def test_an_error_with_a_text_that_cannot_be_stored_is_still_recorded(memory: FluxMem) -> None:
    def execute(context: Context) -> Outcome:
        raise ValueError("bad \x00 byte and \ud800")

    done = memory.refine(TASK, execute, max_rounds=0)
    assert "ValueError: bad" in memory.episode(done.episode_id).steps[0].action


def test_an_empty_memory_is_no_error(memory: FluxMem) -> None:
    assert memory.refine(TASK, lambda _: Outcome(0.0, "nothing there"), max_rounds=1).success is False


def test_an_agent_that_returns_no_outcome_is_refused(memory: FluxMem) -> None:
    with pytest.raises(InvalidInput, match="Outcome"):
        memory.refine(TASK, lambda _: True)  # type: ignore[arg-type, return-value]
    # The run is closed as a failure: it does not stay open for ever.
    assert [episode.success for episode in memory.episodes()] == [0.0]


def test_an_outcome_with_an_unknown_id_ends_the_run(memory: FluxMem) -> None:
    notes(memory)
    with pytest.raises(NotFound, match="nobody"):
        memory.refine(TASK, lambda _: Outcome(0.0, "no", used=("nobody",)))
    assert [episode.success for episode in memory.episodes()] == [0.0]
    assert links(memory) == {}


def test_without_an_environment_the_answer_is_verified_against_the_context(memory: FluxMem) -> None:
    notes(memory)
    answers = iter(["a zebra in pyjamas", "medals are counted in table 3"])
    done = memory.refine(TASK, lambda _: Outcome(None, answer=next(answers)))
    assert [step.refinement.success for step in done.rounds] == [0.0, 1.0]
    assert "verified by rules" in done.rounds[0].refinement.by


# Grain.


def test_a_fact_that_is_too_coarse_is_rewritten_for_this_episode_and_promoted_once_it_helped(
    memory: FluxMem,
) -> None:
    filler = " ".join(f"The hall number {n} was painted in green last summer." for n in range(30))
    long = memory.add(f"{filler} For medals the separator is a semicolon. {filler} More on halls.")
    episode = memory.start_episode(TASK)
    memory.step(episode, TASK, activated=memory.activate(TASK).facts)
    made = memory.feedback(episode, 0.0, "which separator have the medals", too_coarse=[long.id])
    assert Blame.TOO_COARSE in made.blame
    assert made.by == "rules; rewritten by split"
    [finer] = made.reshaped
    assert memory.get(finer).status is Status.LOCAL
    assert len(memory.get(finer).content) < len(long.content) / 2
    assert finer not in [hit.id for hit in memory.activate(TASK).facts]
    inside = memory.activate(TASK, episode_id=episode).facts
    assert [hit.rewrites for hit in inside if hit.id == finer] == [(long.id,)]
    assert long.id not in [hit.id for hit in inside]
    memory.step(episode, TASK, activated=inside)
    memory.feedback(episode, 1.0, used=[finer])
    assert memory.get(finer).status is Status.ACTIVE
    assert memory.get(long.id) == long


def test_a_fact_that_is_too_fine_is_joined_with_its_neighbours(memory: FluxMem) -> None:
    turns = ["Where did you go?", "To Lisbon.", "How nice, by train?"]
    memory.ingest([NewMemory(text, str(n), "chat", "Ada", session="1") for n, text in enumerate(turns)])
    [fact] = [hit for hit in memory.activate("Lisbon").facts if "Lisbon" in hit.content]
    episode = memory.start_episode("Lisbon")
    memory.step(episode, "Lisbon", activated=[fact])
    made = memory.feedback(episode, 0.0, too_fine=[fact.id])
    [coarser] = made.reshaped
    assert all(turn in memory.get(coarser).content for turn in turns)


# With a language model.


def with_model(memory: FluxMem, llm: ScriptedLLM) -> FluxMem:
    """Return the same memory with a model."""
    return FluxMem(memory.database, memory.schema, memory.embedder, llm, memory.settings, memory.actor)


def test_a_model_attributes_once_and_its_numbers_become_ids(memory: FluxMem) -> None:
    ids = notes(memory)
    judged = Judgement(missing=CORRECTION, noisy=[2], too_coarse=[], too_fine=[], used=[])
    llm = ScriptedLLM([judged])
    episode = memory.start_episode(TASK)
    shown = memory.activate(TASK).facts
    memory.step(episode, TASK, activated=shown)
    made = with_model(memory, llm).feedback(episode, 0.0, "wrong")
    assert (made.by, made.pruned) == ("scripted", (shown[1].id,))
    assert ids[f"{CORRECTION} in that file"] in made.expanded
    assert llm.usage["calls"] == 1


@pytest.mark.parametrize(
    "answers",
    [
        ["I think that", "no idea"],
        ['{"missing": "x", "noisy": [99], "too_coarse": [], "too_fine": [], "used": []}'],
        [LLMError("down")],
    ],
    ids=["prose", "a number that names no memory", "an error"],
)
def test_a_model_that_fails_is_named_and_rules_apply(memory: FluxMem, answers: list[str | Exception]) -> None:
    notes(memory)
    episode = memory.start_episode(TASK)
    memory.step(episode, TASK, activated=memory.activate(TASK).facts)
    made = with_model(memory, ScriptedLLM(answers)).feedback(episode, 0.0, CORRECTION)
    assert made.by.startswith("rules (scripted failed")
    assert made.pruned == ()


# Bad input: clear errors, nothing lost, weights unchanged.


def test_feedback_twice_on_one_step_is_refused_and_changes_nothing(memory: FluxMem) -> None:
    notes(memory)
    episode, shown = failed_step(memory, text=CORRECTION)
    before, log = snapshot(memory), memory.log()
    for success in (0.0, 1.0):
        with pytest.raises(Conflict, match="another step"):
            memory.feedback(episode, success, CORRECTION, used=[shown[0].id])
    assert (snapshot(memory), memory.log()) == (before, log)


def test_ids_of_another_tenant_are_unknown_and_nothing_is_written(tenant: Tenants) -> None:
    memory, other = tenant(), tenant()
    mine, theirs = notes(memory), notes(other)
    foreign = next(iter(theirs.values()))
    episode = memory.start_episode(TASK)
    memory.step(episode, TASK, activated=memory.activate(TASK).facts)
    before, theirs_before = snapshot(memory), snapshot(other)
    for name in ("used", "unused", "too_coarse", "too_fine"):
        with pytest.raises(NotFound, match=foreign):
            memory.feedback(episode, 0.0, CORRECTION, **{name: [next(iter(mine.values())), foreign]})  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        other.feedback(episode, 1.0)
    with pytest.raises(NotFound):
        other.activate(TASK, episode_id=episode)
    assert (snapshot(memory), snapshot(other)) == (before, theirs_before)


@pytest.mark.parametrize("report", [{"text": "a\x00b"}, {"missing": "\ud800"}, {"success": 2.0}])
def test_a_report_that_is_none_is_refused_before_anything_is_written(
    memory: FluxMem, report: dict[str, object]
) -> None:
    notes(memory)
    episode = memory.start_episode(TASK)
    memory.step(episode, TASK)
    before = snapshot(memory)
    with pytest.raises(InvalidInput):
        memory.feedback(episode, **{"success": 0.0, **report})  # type: ignore[arg-type]
    assert snapshot(memory) == before


# Undo.

reports = st.fixed_dictionaries(
    {
        "success": st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]),
        "text": st.sampled_from(["", CORRECTION, "on 8 May 2023"]),
        "used": st.lists(st.integers(0, 5), max_size=3, unique=True),
        "unused": st.lists(st.integers(6, 9), max_size=2, unique=True),
        "too_fine": st.lists(st.integers(0, 3), max_size=1),
    }
)


@given(data=st.data(), given_reports=st.lists(reports, min_size=1, max_size=4))
@settings(max_examples=12, deadline=None)
def test_learning_undone_in_any_order_gives_back_the_exact_graph(
    tenant: Tenants, data: st.DataObject, given_reports: list[dict[str, object]]
) -> None:
    memory = tenant()
    notes(memory)
    shown = memory.activate(TASK).facts
    episodes = [memory.start_episode(TASK) for _ in given_reports]
    for episode in episodes:
        memory.step(episode, TASK, activated=shown)
    before, seq = snapshot(memory), memory.log(top=1)[0].seq
    for episode, report in zip(episodes, given_reports, strict=True):
        named = {
            name: [shown[place].id for place in value] if isinstance(value, list) else value
            for name, value in report.items()
        }
        memory.feedback(episode, **named)  # type: ignore[arg-type]
    assert snapshot(memory) != before
    operations = [operation.id for operation in memory.log() if operation.seq > seq]
    for operation in data.draw(st.permutations(operations)):
        memory.undo(operation)
    assert snapshot(memory) == before
    with pytest.raises(Conflict, match="undone already"):
        memory.undo(operations[0])
