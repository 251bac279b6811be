"""Atomic operations and policies on the real store."""

import json

import pytest

from fluxmem_graph import FluxMem
from fluxmem_graph.errors import ConfigurationError
from fluxmem_graph.llm import ScriptedLLM
from fluxmem_graph.policies.language import parse_operations
from fluxmem_graph.settings import PolicySettings
from fluxmem_graph.types import Create, Delete, NewMemory, Note, Read, Status, Update
from tests.integration.conftest import Tenants


def with_policy(memory: FluxMem, llm: ScriptedLLM | None = None, **policy: object) -> FluxMem:
    settings = memory.settings.model_copy(update={"policy": PolicySettings.model_validate(policy)})
    return FluxMem(memory.database, memory.schema, memory.embedder, llm, settings, "test")


def test_operations_are_applied_in_order_with_an_outcome_each(memory: FluxMem) -> None:
    [created] = memory.apply([Create(NewMemory("Ada likes tea"))])
    assert created.id is not None
    updated, read, missing, deleted, again = memory.apply(
        [
            Update(created.id, "Ada likes green tea"),
            Read("What does Ada like?", 1),
            Delete("m9"),
            Delete(created.id),
            Delete(created.id),
        ]
    )
    assert updated.done and updated.id == created.id
    assert [hit.content for hit in read.hits] == ["Ada likes green tea"]
    assert missing.problem == f"no memory m9 in namespace {memory.namespace}"
    assert deleted.done
    assert again.problem == f"memory {created.id} is deleted already"
    assert memory.get(created.id).status is Status.DELETED


def test_the_log_names_policy_version_and_reason(memory: FluxMem) -> None:
    operation = Create(NewMemory("Ada likes tea"), "worth its room")
    [created] = memory.apply([operation], policy="learned", version="1a2b3c4d.0")
    [row] = memory.log(created.id)
    assert (row.kind, row.actor, row.reason) == ("create", "test:learned@1a2b3c4d.0", "worth its room")


def test_the_words_of_a_model_are_applied_and_can_be_undone(memory: FluxMem) -> None:
    words = '{"operations": [{"operation": "create", "content": "Ada likes tea", "reason": "a taste"}]}'
    [created] = memory.apply(parse_operations(words), policy="llm", version="scripted")
    [row] = memory.log(created.id)
    memory.undo(row.id)
    assert memory.search("Ada tea") == ()


def test_the_scratchpad_is_kept_and_each_of_its_versions_logged(memory: FluxMem) -> None:
    assert memory.scratchpad == ""
    text = 'Ada said "tea",\n\tBen said \\ nothing'
    memory.apply([Note("first"), Note(text, "more to note")])
    assert memory.scratchpad == text
    last, first = memory.log()
    assert (last.kind, last.before, last.after) == ("note", {"text": "first"}, {"text": text})
    assert first.before == {"text": ""}
    assert memory.match() == []


def test_a_scratchpad_is_its_own_tenants(memory: FluxMem, tenant: Tenants) -> None:
    memory.apply([Note("mine")])
    assert tenant().scratchpad == ""


CHAT = (
    "Thanks, that sounds great!",
    "I bought a red bicycle with a bell and a basket in Lisbon in May",
    "I never bought a red bicycle with a bell and a basket in Lisbon in May",
    "Ben plays the violin",
)


def chat() -> list[NewMemory]:
    return [
        NewMemory(text, external_id=f"t{place}", source="chat", speaker="Ada")
        for place, text in enumerate(CHAT)
    ]


def test_ingest_under_rules_skips_updates_and_creates(memory: FluxMem) -> None:
    report = memory.ingest(chat(), policy="rules")
    assert (report.created, report.skipped, report.unchanged, report.failures) == (2, 2, 0, [])
    assert report.operations == {"create": 2, "read": 3, "update": 1}
    found = {hit.content for hit in memory.search("bicycle violin")}
    assert found == {CHAT[2], CHAT[3]}
    reasons = {(row.kind, row.actor, row.reason) for row in memory.log()}
    assert ("update", "test:rules@1", "contradicts it: supersedes") in reasons


def test_ingest_under_rules_can_be_repeated(memory: FluxMem) -> None:
    memory.ingest(chat(), policy="rules")
    before = memory.log()
    report = memory.ingest(chat(), policy="rules")
    assert report.created == 0
    assert [row.id for row in memory.log()] == [row.id for row in before]


def test_ingest_under_the_learned_policy_keeps_within_its_bounds(memory: FluxMem) -> None:
    turns = [
        NewMemory(f"{text} {place}", external_id=f"t{place}", source="chat", speaker="Ada", session="s")
        for place, text in enumerate(CHAT * 3)
    ]
    report = with_policy(memory, name="learned", entries=4).ingest(turns)
    kept = memory.match(top=100)
    assert len(kept) == 4
    assert report.operations["create"] - report.operations.get("delete", 0) == 4
    assert report.created + report.skipped == len(turns)


def test_ingest_under_a_model_records_what_it_could_not_say(memory: FluxMem) -> None:
    create = json.dumps({"operations": [{"operation": "create"}]})
    llm = ScriptedLLM([create, "no", "still no", create, create])
    report = with_policy(memory, llm, name="llm").ingest(chat())
    assert report.created == 3
    [failure] = report.failures
    assert failure.where == "chat t1" and "twice" in failure.reason


def test_a_policy_without_its_model_is_told_before_anything_is_written(memory: FluxMem) -> None:
    with pytest.raises(ConfigurationError, match="FLUXMEM_LLM_MODEL"):
        memory.ingest(chat(), policy="llm")
    assert memory.log() == []


def test_static_is_the_default_and_stores_everything(memory: FluxMem) -> None:
    report = memory.ingest(chat())
    assert (report.created, report.skipped) == (4, 0)


def test_a_namespace_with_notes_is_sound_and_its_log_can_be_replayed(
    memory: FluxMem, tenant: Tenants
) -> None:
    memory.apply([Note("Ada is new"), Create(NewMemory("Ada likes tea")), Note("Ada is known")])
    assert memory.doctor().ok
    target = tenant()
    assert memory.replay(target.namespace).difference is None
    assert target.scratchpad == "Ada is known"
