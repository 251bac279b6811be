"""Erasure for good: rows 5 and 18 of the pitfalls, with the proof, the log's tombstones and replay."""

import json
from collections.abc import Callable

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from fluxmem_graph import FluxMem, NewMemory
from fluxmem_graph.errors import Conflict, InvalidInput, NotFound, QuotaExceeded
from fluxmem_graph.ingest.values import content_hash
from fluxmem_graph.operations.ingesting import SMALLEST
from fluxmem_graph.types import Erased, Layer, Note, Status
from tests.integration.conftest import Tenants
from tests.integration.graphs import count_nodes, snapshot
from tests.integration.histories import LONG, Change, histories, play
from tests.integration.test_skills import NEWER, RUNS

MARKER = "Zerubbabel Quux"
SECRET = f"{MARKER} keeps the key under the third stone."


def everything(memory: FluxMem) -> str:
    """Return all properties of all nodes and links of a namespace, as text."""
    rows = memory.database.call(
        "MATCH (n {namespace: $n}) RETURN n {.*, embedding: null, trajectory_embedding: null} AS node, "
        "COLLECT { MATCH (n)-[r]->() RETURN properties(r) } AS links",
        n=memory.namespace,
    )
    return json.dumps(rows, default=str)


def lived_in(memory: FluxMem) -> str:
    """Fill a namespace in which a secret has spread: versions, a rewriting, steps, feedback, the log."""
    memory.add("The garden has three stones.", source="garden.md")
    long = "The house is old. " * 20
    fact = memory.add(f"{long}{SECRET} {long}", source="diary.md", speaker="Ada Byron")
    memory.update(memory.add(f"It is {MARKER} again, who walks at night.", source="diary.md").id, "Changed.")
    observed = memory.observe(f"I met {MARKER} at the well today.", external_id="1")
    episode = memory.start_episode("find the key")
    memory.step(episode, "where is the key?", f"ask {MARKER}", activated=memory.search("key stone"))
    memory.feedback(episode, 0.0, f"the key of {MARKER}", used=[], too_coarse=[fact.id])
    memory.step(episode, "third stone", "look", activated=memory.search("key", top_k=3))
    memory.feedback(episode, 1.0, used=[fact.id, observed.memory_id])
    memory.end_episode(episode, 1.0, f"thanks to {MARKER}")
    memory.delete(memory.add(f"A deleted note on {MARKER}.").id)
    return fact.id


def test_a_subject_is_found_nowhere_after_its_erasure(memory: FluxMem, tenant: Tenants) -> None:
    other = tenant()
    for each in (memory, other):
        lived_in(each)
    theirs = snapshot(other), other.log(top=1000), count_nodes(other)
    assert MARKER in everything(memory)
    report = memory.erase_subject(MARKER)
    assert report.left == ()
    assert report.memories >= 5 and report.derived >= 1 and report.redacted >= 3
    assert "zerubbabel" not in everything(memory).casefold()
    assert memory.search(MARKER) == () or all(MARKER not in hit.content for hit in memory.search(MARKER))
    assert [fact.content for fact in memory.match(layer=None) if "garden" in fact.content]
    assert (snapshot(other), other.log(top=1000), count_nodes(other)) == theirs
    with pytest.raises(NotFound, match="mentions"):
        memory.erase_subject(MARKER)


def test_no_orphans_and_an_unbroken_log_are_left(memory: FluxMem) -> None:
    lived_in(memory)
    memory.erase_subject(MARKER)
    rows = memory.database.call(
        "MATCH (n {namespace: $n}) WHERE (n:Entity OR n:Source OR n:Step) AND NOT EXISTS { (n)<--() } "
        "AND n.episode_id IS NULL RETURN labels(n) AS labels, n.name AS name",
        n=memory.namespace,
    )
    assert rows == []
    operations = memory.log(top=1000)
    assert [o.seq for o in reversed(operations)] == list(range(1, len(operations) + 1))
    erased = [o for o in operations if o.erased]
    assert erased and all((o.reason, o.before, o.after) == ("", None, None) for o in erased)


def test_one_memory_is_erased_with_its_versions_and_rewritings(memory: FluxMem) -> None:
    fact = lived_in(memory)
    memory.update(fact, "Another text on the stones.")
    report = memory.erase_memory(fact)
    assert report.left == () and report.derived >= 2
    assert SECRET not in everything(memory)
    with pytest.raises(NotFound):
        memory.get(fact)
    with pytest.raises(NotFound):
        memory.erase_memory(fact)


def test_a_source_takes_only_what_no_other_source_has(memory: FluxMem) -> None:
    both = memory.add("Tea is hot in the morning.", source="a-file.md")
    memory.add("Tea is hot in the morning.", source="another-file.md")
    only = memory.add("Coffee is hot in the evening.", source="a-file.md")
    report = memory.erase_source("a-file.md")
    assert (report.memories, report.left) == (1, ())
    assert memory.get(both.id).source == "another-file.md"
    assert "a-file.md" not in everything(memory)
    with pytest.raises(NotFound):
        memory.get(only.id)
    memory.erase_source("another-file.md")
    assert memory.match() == []
    with pytest.raises(NotFound):
        memory.erase_source("another-file.md")


def test_undo_across_an_erasure_is_refused_with_the_reason(memory: FluxMem) -> None:
    fact = lived_in(memory)
    created = memory.log(fact)[-1]
    ended = memory.log(kinds=["end"])[0]
    last = memory.log(top=1)[0].seq
    memory.erase_subject(MARKER)
    before = snapshot(memory)
    for operation in (created, ended):
        with pytest.raises(Conflict, match="erased"):
            memory.undo(operation.id)
    with pytest.raises(Conflict, match="erased"):
        memory.undo_range(1, last)
    assert snapshot(memory) == before


def test_the_episode_that_quoted_it_is_told_and_found_without_it(memory: FluxMem) -> None:
    lived_in(memory)
    episode = next(e for e in memory.episodes() if e.task == "find the key").id
    memory.erase_subject(MARKER)
    read = memory.episode(episode)
    assert read.steps[0].action == "ask [erased]" and read.outcome == "thanks to [erased]"
    assert "[erased]" in memory.get(episode).content
    assert memory.activate("find the key").episodes[0].id == episode


def test_the_skills_made_of_an_erased_episode_go_too(memory: FluxMem) -> None:
    memory.ingest(RUNS)
    memory.consolidate(apply=True, approve=True)
    before = {skill.id: skill.sources for skill in memory.skills()}
    episode = next(iter(before.values()))[0]
    gone = {id_ for id_, sources in before.items() if episode in sources}
    report = memory.erase_memory(episode)
    assert report.derived >= len(gone) > 0
    assert {skill.id for skill in memory.skills()} == before.keys() - gone
    assert all(o.erased for o in memory.log(kinds=["skill"]) if not o.touched)


def test_the_scratchpad_is_told_without_it_too(memory: FluxMem, tenant: Tenants) -> None:
    memory.add(SECRET)
    memory.apply([Note(f"Ask {MARKER} about tea."), Note(f"{MARKER} has the key. Tea is hot.")])
    report = memory.erase_subject(MARKER)
    assert report.left == ()
    assert memory.scratchpad == "[erased] has the key. Tea is hot."
    assert MARKER not in everything(memory)
    memory.replay((other := tenant()).namespace)
    assert other.scratchpad == memory.scratchpad
    with pytest.raises(NotFound, match="mentions"):
        memory.erase_subject(MARKER)


def test_a_subject_that_only_the_scratchpad_names_is_erased(memory: FluxMem) -> None:
    memory.add("Tea is hot.")
    memory.apply([Note(f"Ask {MARKER}.")])
    memory.database.call(
        "MATCH (o:Operation {namespace: $n, kind: 'note'}) REMOVE o.before, o.after", n=memory.namespace
    )
    report = memory.erase_subject(MARKER)
    assert (report.redacted, report.left, memory.scratchpad) == (1, (), "Ask [erased].")


def test_a_skill_that_named_it_gets_the_vector_of_what_is_left(memory: FluxMem, tenant: Tenants) -> None:
    memory.ingest(RUNS)
    memory.consolidate(apply=True, approve=True)
    skill = next(skill for skill in memory.skills() if "harbour" in skill.content)
    assert memory.erase_subject("harbour").left == ()
    text = (
        "MATCH (m:Memory {namespace: $n, id: $id}) "
        "RETURN m.content AS content, m.embedding AS vector, m.content_hash AS hash"
    )
    [now] = memory.database.call(text, n=memory.namespace, id=skill.id)
    assert "[erased]" in now["content"]
    assert now["vector"] == pytest.approx(memory.embedder.embed([now["content"]])[0].tolist(), abs=1e-6)
    assert now["hash"] == content_hash(now["content"])
    assert memory.replay(tenant().namespace).difference is None


def test_what_others_write_during_the_proof_costs_no_report(
    memory: FluxMem, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.add(SECRET)
    run = memory.database.run

    def meddle(name: str, /, **arguments: object) -> object:
        rows = run(name, **arguments)
        if name == "fluxmem.internal.exportNamespace":
            monkeypatch.setattr(memory.database, "run", run)
            memory.add("Tea is hot.")
        return rows

    monkeypatch.setattr(memory.database, "run", meddle)
    report = memory.erase_subject(MARKER)
    assert (report.memories, report.left) == (1, ())
    assert [fact.content for fact in memory.match()] == ["Tea is hot."]


Erase = Callable[[FluxMem], Erased]
ERASURES: list[Erase] = [
    lambda memory: memory.erase_subject("Ada"),
    lambda memory: memory.erase_source("notes.md"),
    lambda memory: memory.erase_memory(memory.match()[0].id),
    lambda memory: memory.erase_memory(memory.episodes()[0].id),
]


@given(history=histories, pick=st.integers(0, len(ERASURES) - 1))
@example(history=LONG, pick=0)
@example(history=LONG, pick=1)
@example(history=[("update", 0, 0)], pick=0)
@settings(max_examples=2, deadline=None)
def test_what_is_left_is_replayed_without_the_erased(
    tenant: Tenants, history: list[Change], pick: int
) -> None:
    memory, other = tenant(), tenant()
    memory.add("Tea is hot.", title="Tea")
    play(memory, history)
    try:
        report = ERASURES[pick](memory)
    except (NotFound, IndexError):
        return
    # A fact that stays may say the same by itself.
    saying = {place.removeprefix("memory ") for place in report.left if place.startswith("memory ")}
    assert all(memory.get(id_).layer is Layer.SEMANTIC for id_ in saying)
    assert len(report.left) <= 3 * len(saying)
    done = memory.replay(other.namespace)
    assert done.difference is None
    assert done.skipped > 0
    assert [(o.seq, o.id, o.kind) for o in other.log(top=1000)] == [
        (o.seq, o.id, o.kind) for o in memory.log(top=1000)
    ]


def test_an_interrupted_erasure_is_finished_by_the_next_one(
    memory: FluxMem, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived_in(memory)
    run = memory.database.run

    def crash(name: str, /, **arguments: object) -> object:
        if name == "fluxmem.internal.eraseMemories":
            raise KeyboardInterrupt
        return run(name, **arguments)

    with monkeypatch.context() as patch:
        patch.setattr(memory.database, "run", crash)
        with pytest.raises(KeyboardInterrupt):
            memory.erase_subject(MARKER)
    assert memory.erase_subject(MARKER).left == ()
    assert MARKER not in everything(memory)


def test_a_short_text_of_others_stays(memory: FluxMem) -> None:
    yes = memory.add("Yes.", external_id="1", source="chat")
    episode = memory.start_episode("ask")
    memory.step(episode, "Yes. They said Yes.")
    memory.erase_memory(yes.id)
    assert memory.episode(episode).steps[0].observation == "Yes. They said Yes."


def test_a_subject_called_like_a_word_of_ours_takes_nothing_else(memory: FluxMem) -> None:
    kept = memory.add("Boats leave pier 4.", metadata={"kind": "timetable"})
    episode = memory.start_episode("Which pier?")
    memory.step(episode, "a sign", activated=memory.search("boats"))
    memory.feedback(episode, 1.0, used=[kept.id])
    memory.end_episode(episode, 1.0)
    for name in ("Active", "semantic", "create", "rules", "MiniLM", "hashing"):
        with pytest.raises(NotFound):
            memory.erase_subject(name)
    ship = memory.add("Active sails at nine.")
    assert memory.erase_subject("Active").memories == 1
    assert memory.get(kept.id) == kept
    with pytest.raises(NotFound):
        memory.get(ship.id)


@pytest.mark.parametrize("name", ["", "  "])
def test_a_subject_needs_a_name(memory: FluxMem, name: str) -> None:
    memory.add("Tea is hot.")
    with pytest.raises(InvalidInput):
        memory.erase_subject(name)


# Namespaces and quotas.


def test_namespaces_are_made_listed_and_counted(memory: FluxMem) -> None:
    assert memory.create_namespace() is True
    assert memory.create_namespace() is False
    memory.update(memory.add("one").id, "two")
    [row] = [row for row in memory.namespaces() if row.name == memory.namespace]
    assert (row.memories, row.seq, row.quota) == (1, 2, None)


def test_a_quota_is_kept_by_every_kind_of_write(memory: FluxMem) -> None:
    fact = memory.add("The table is wide. " * 30 + "The separator is a semicolon. " + "It has rows. " * 30)
    episode = memory.start_episode("read the table")
    for n in range(2):
        memory.step(episode, f"which separator? {n}", activated=memory.search("separator"))
    ended = memory.start_episode("ended")
    for n in range(2):
        memory.step(ended, f"step {n}")
    memory.end_episode(ended, 1.0)
    memory.delete(memory.add("a deleted one").id)
    memory.ingest(RUNS)
    assert memory.set_quota(9) == 9
    writes: list[Callable[[], object]] = [
        lambda: memory.add("one more"),
        lambda: memory.ingest([NewMemory("one more")]),
        lambda: memory.start_episode("one more"),
        lambda: memory.observe("one more"),
        lambda: memory.split_episode(ended, 1),
        lambda: memory.feedback(episode, 0.0, "the separator", too_coarse=[fact.id]),
        lambda: memory.consolidate(apply=True),
    ]
    before, log = snapshot(memory), memory.log()
    for write in writes:
        with pytest.raises(QuotaExceeded, match="9 of the 9 memories"):
            write()
        assert (snapshot(memory), memory.log()) == (before, log)
    assert memory.add(fact.content).id == fact.id
    memory.update(fact.id, "The separator is a comma.")
    memory.erase_memory(ended)
    assert memory.get(memory.add("one more").id).status is Status.ACTIVE
    with pytest.raises(QuotaExceeded):
        memory.add_many([NewMemory("two"), NewMemory("three")])
    memory.set_quota(None)
    memory.add("two")
    assert memory.set_quota(99) == 10


def test_an_ingest_that_fills_a_namespace_names_the_run_that_holds_what_is_stored(memory: FluxMem) -> None:
    memory.create_namespace()
    memory.set_quota(SMALLEST + 1)
    with pytest.raises(QuotaExceeded, match=r"stored, as run (\S+):") as caught:
        memory.ingest(NewMemory(f"Pier {n} has a crane.") for n in range(SMALLEST + 2))
    run = str(caught.value).split("--run ")[1].split("`")[0]
    assert len(memory.undo_run(run).operations) == SMALLEST
    assert memory.match() == []


def test_a_quota_is_kept_by_new_skills_and_holds_back_no_version(memory: FluxMem) -> None:
    memory.ingest(RUNS)
    memory.set_quota(6)
    with pytest.raises(QuotaExceeded, match="6 of the 6 memories"):
        memory.consolidate(apply=True)
    assert len(memory.skills()) == 1
    memory.set_quota(7)
    # What was made stays, and the rest is made by the next one.
    memory.consolidate(apply=True)
    assert len(memory.skills()) == 2
    memory.set_quota(None)
    memory.ingest(NEWER)
    assert memory.set_quota(10) == 10
    assert memory.consolidate(apply=True).of("revise")
    assert memory.set_quota(10) == 10


def test_a_quota_is_exact_among_parallel_writers(memory: FluxMem) -> None:
    from concurrent.futures import ThreadPoolExecutor

    memory.create_namespace()
    memory.set_quota(5)

    def write(n: int) -> bool:
        try:
            memory.add(f"fact {n}")
        except QuotaExceeded:
            return False
        return True

    with ThreadPoolExecutor(6) as pool:
        assert sum(pool.map(write, range(12))) == 5
    assert len(memory.match()) == 5


@pytest.mark.parametrize("most", [-1, True, "3", 1.5])
def test_a_quota_is_a_number(memory: FluxMem, most: object) -> None:
    memory.create_namespace()
    with pytest.raises(InvalidInput):
        memory.set_quota(most)  # type: ignore[arg-type]
    with pytest.raises(NotFound):
        memory.__class__.set_quota(_elsewhere(memory), 3)


def _elsewhere(memory: FluxMem) -> FluxMem:
    settings = memory.settings.model_copy(update={"namespace": "no-such-namespace"})
    return FluxMem(memory.database, memory.schema, memory.embedder, None, settings, "test")
