"""Each finding of the doctor, had by really breaking the graph, and what `fix` makes of it."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from fluxmem_graph import FluxMem, Outcome, Settings
from fluxmem_graph.operations.doctor import plugin_check
from fluxmem_graph.types import Check, Diagnosis, Note
from tests.integration.conftest import Tenants
from tests.integration.histories import LONG, play

Break = Callable[..., None]


def checks(found: Diagnosis) -> dict[str, Check]:
    return {check.name: check for check in found.checks}


def findings(found: Diagnosis) -> set[str]:
    return {check.name for check in found.checks if not check.ok}


@pytest.fixture
def filled(memory: FluxMem) -> FluxMem:
    """A namespace in which everything was used once."""
    memory.add("Ada keeps bees in Bergen.", source="notes", external_id="1")
    kept = memory.add("Boats leave pier 4 at nine.", source="notes", external_id="2")
    memory.update(kept.id, "Boats leave pier 4 at ten.")
    memory.refine("When do boats leave?", lambda _: Outcome(1.0, answer="ten"))
    memory.observe("Hello there.", stream="chat")
    return memory


@pytest.fixture
def broken(filled: FluxMem) -> Iterator[Break]:
    """Runs text as a bare driver would, on the namespace's own nodes."""

    def run(statement: str, **parameters: Any) -> None:
        filled.database.call(statement, ns=filled.namespace, **parameters)

    yield run
    filled.database.call("MATCH (n:Entity) WHERE n.namespace IS NULL DETACH DELETE n")


def test_a_namespace_in_use_is_healthy(filled: FluxMem) -> None:
    found = filled.doctor()
    assert found.ok, findings(found)
    assert [check.name for check in found.checks] == [
        *("connection", "version", "schema", "plugin", "embedder", "indexes", "identity", "vectors"),
        *("orphans", "log", "counts", "disk", "memory"),
    ]
    assert checks(found)["counts"].detail == "3 facts submitted, 3 stored"


def test_it_compares_with_the_embedder_of_the_connection_not_with_that_of_the_settings(
    filled: FluxMem,
) -> None:
    settings = filled.settings.model_copy(update={"embedder": "all-MiniLM-L6-v2"})
    mine = FluxMem(filled.database, filled.schema, filled.embedder, None, settings, "test")
    found = mine.doctor()
    assert found.ok, findings(found)
    assert findings(FluxMem.diagnose(settings)) == {"embedder"}


BREAKS = {
    "a memory without an id": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) SET m.id = null",
        {"identity", "counts"},
        "1 Memory with no id",
    ),
    "a step without an id": (
        "MATCH (s:Step {namespace: $ns}) SET s.id = null",
        {"identity"},
        "Step with no id",
    ),
    "a memory without a key": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) SET m.key = null",
        {"identity"},
        "1 Memory with no key",
    ),
    "a memory that words can't find": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) SET m.namespace_key = null",
        {"identity"},
        "no namespace key",
    ),
    "a memory without a vector": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) SET m.embedding = null",
        {"vectors"},
        "1 vectors missing",
    ),
    "a vector of another length": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) "
        "CALL db.create.setNodeVectorProperty(m, 'embedding', [1.0, 2.0, 3.0])",
        {"vectors"},
        "1 vectors of another length",
    ),
    "a trajectory of another length": (
        "MATCH (m:Episodic {namespace: $ns}) WHERE m.ended_at IS NOT NULL SET m.trajectory_embedding = [1.0]",
        {"vectors"},
        "of another length",
    ),
    "a vector of another model": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) SET m.embedding_model = 'other'",
        {"vectors"},
        "1 vectors of another model",
    ),
    "a name that no memory has": (
        "CREATE (:Entity {namespace: $ns, id: 'e', key: 'nobody', name: 'Nobody'})",
        {"orphans"},
        "1 x entity",
    ),
    "a source of nothing": (
        "CREATE (:Source {namespace: $ns, id: 's', uri: 'nowhere'})",
        {"orphans"},
        "1 x source",
    ),
    "a log entry about nothing": (
        "CREATE (:Operation {namespace: $ns, id: 'o', seq: 5000, kind: 'delete', before: '{}', after: '{}'})",
        {"log"},
        "1 x touches nothing",
    ),
    "a counter behind the log": (
        "MATCH (t:Namespace {name: $ns}) SET t.seq = 1",
        {"log"},
        "1 x counter behind",
    ),
}


@pytest.mark.parametrize("name", BREAKS)
def test_what_is_safe_is_found_and_repaired(filled: FluxMem, broken: Break, name: str) -> None:
    text, expected, said = BREAKS[name]
    broken(text)
    found = filled.doctor()
    assert not found.ok
    assert findings(found) == expected
    check = next(check for check in found.checks if said in check.detail)
    assert check.name in expected
    assert check.fix
    assert "--fix" in check.fix
    repaired = filled.doctor(fix=True)
    assert repaired.ok, findings(repaired)
    assert repaired.fixed == (check.name,)
    assert filled.add("Tea is hot.").status == "active"
    assert filled.doctor().ok


def test_repaired_vectors_are_those_that_were_lost(filled: FluxMem, broken: Break) -> None:
    text = (
        "MATCH (m:Memory {namespace: $ns}) WHERE m.embedding IS NOT NULL "
        "RETURN m.id AS id, m.embedding AS vector, m.trajectory_embedding AS trajectory ORDER BY id"
    )
    before = filled.database.call(text, ns=filled.namespace)
    broken("MATCH (m:Memory {namespace: $ns}) SET m.embedding = null, m.trajectory_embedding = null")
    filled.doctor(fix=True)
    after = filled.database.call(text, ns=filled.namespace)
    alive = {row["id"] for row in after}
    # A former version is out of retrieval for good, and needs none.
    assert len(alive) == len(before) - 1
    for row in after:
        former = next(one for one in before if one["id"] == row["id"])
        assert row["vector"] == pytest.approx(former["vector"], abs=1e-6)
        assert (row["trajectory"] or []) == pytest.approx(former["trajectory"] or [], abs=1e-6)


UNSAFE = {
    "a node of no namespace": (
        "CREATE (:Entity {id: 'x', key: 'x'})",
        "identity",
        "1 Entity with no namespace",
    ),
    "a memory without a status": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) SET m.status = null",
        "identity",
        "no layer or status",
    ),
    "a step of no episode": (
        "CREATE (:Step {namespace: $ns, id: 'lost', index: 0, observation: 'x'})",
        "orphans",
        "1 x step",
    ),
    "a memory that was written past the log": (
        "MATCH (t:Namespace {name: $ns}) CREATE (m:Memory:Semantic {namespace: $ns, id: 'w', key: 'w', "
        "namespace_key: t.key, layer: 'semantic', status: 'deleted', content: 'x'})",
        "log",
        "1 x memory without an entry",
    ),
    "a memory that was deleted past the log": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) DETACH DELETE m",
        "counts",
        "3 facts submitted, 2 stored",
    ),
    "the last copy of a memory that was deleted past the log": (
        "MATCH (m:Memory {namespace: $ns, external_id: '1'}) DETACH DELETE m",
        "log",
        "1 x lost what it stored",
    ),
    "a name that nothing can find": (
        "CREATE (:Entity {namespace: $ns, id: 'e', name: 'Ada'})",
        "identity",
        "1 Entity with no name key",
    ),
}


@pytest.mark.parametrize("name", UNSAFE)
def test_what_may_lose_something_is_left_to_a_person(filled: FluxMem, broken: Break, name: str) -> None:
    text, check, said = UNSAFE[name]
    broken(text)
    before, log = filled.stats()["memory"], filled.log()
    found = checks(filled.doctor(fix=True))[check]
    assert not found.ok
    assert said in found.detail
    assert found.fix
    assert "--fix" not in found.fix
    assert (filled.stats()["memory"], filled.log()) == (before, log)
    # What it says is what helps, and a repair that changes nothing is not promised again.
    assert checks(filled.doctor())[check] == found


def test_an_entry_about_nothing_becomes_a_tombstone_that_everything_else_can_read(
    filled: FluxMem, broken: Break, tenant: Tenants
) -> None:
    other = tenant()
    broken(
        "MATCH (t:Namespace {name: $ns}) SET t.seq = t.seq + 1 CREATE (:Operation {namespace: $ns, id: 'o', "
        "seq: t.seq, kind: 'delete', actor: 'x', reason: 'why', at: datetime(), before: '{}', after: '{}'})"
    )
    filled.doctor(fix=True)
    [entry] = filled.log(kinds=["delete"])
    assert (entry.erased, entry.reason, entry.before, entry.after) == (True, "", None, None)
    assert filled.replay(other.namespace).difference is None


def test_what_was_deleted_past_the_log_can_be_stored_again_from_it(filled: FluxMem, broken: Break) -> None:
    broken("MATCH (m:Memory {namespace: $ns, external_id: '1'}) DETACH DELETE m")
    filled.doctor(fix=True)
    [entry] = [o for o in filled.log(kinds=["create"]) if not o.touched]
    assert entry.after and entry.after["content"] == "Ada keeps bees in Bergen."
    filled.add(entry.after["content"], source=entry.after["source"], external_id=entry.after["external_id"])
    # As the finding says.
    broken(
        "MATCH (o:Operation {namespace: $ns, id: $id}) REMOVE o.before, o.after SET o.erased = true",
        id=entry.id,
    )
    assert filled.doctor().ok


HEALTHY: dict[str, Callable[[FluxMem, Tenants, Path], object]] = {
    "an erasure": lambda memory, *_: memory.erase_subject("Ada"),
    "an erasure of one memory": lambda memory, *_: memory.erase_memory(memory.match()[0].id),
    "an erasure of a source": lambda memory, *_: memory.erase_source("notes.md"),
    "a note": lambda memory, *_: memory.apply([Note("Ada is here.")]),
    "the undo of an edit": lambda memory, *_: _edit_and_undo(memory),
    "the undo of all": lambda memory, *_: memory.undo_range(1, memory.log(top=1)[0].seq),
    "a merge with what is known": lambda memory, tenant, folder: _merge(memory, tenant(), folder),
}


def _edit_and_undo(memory: FluxMem) -> None:
    fact = next(fact for fact in memory.match() if "bees" in fact.content)
    memory.update(fact.id, "Ada keeps bees in Turin.")
    memory.undo(memory.log(top=1)[0].id)


def _merge(memory: FluxMem, other: FluxMem, folder: Path) -> None:
    other.add("Ada keeps bees in Bergen.", source="notes", external_id="1")
    other.add("Only there.")
    other.export(folder / "other.jsonl")
    assert memory.import_file(folder / "other.jsonl", merge=True).known == 1


@pytest.mark.parametrize("name", HEALTHY)
def test_what_the_system_does_by_itself_is_no_finding(
    filled: FluxMem, tenant: Tenants, tmp_path: Path, name: str
) -> None:
    filled.add("Ada sells honey.", source="notes.md")
    HEALTHY[name](filled, tenant, tmp_path)
    found = filled.doctor()
    assert found.ok, [check for check in found.checks if not check.ok]
    log = filled.log(top=1000)
    filled.doctor(fix=True)
    assert filled.log(top=1000) == log


def test_a_long_history_is_healthy_and_so_is_what_is_left_of_it(memory: FluxMem, tenant: Tenants) -> None:
    memory.add("Tea is hot.", title="Tea")
    play(memory, LONG)
    assert memory.doctor().ok
    memory.erase_subject("Ada")
    assert memory.doctor().ok
    memory.replay((other := tenant()).namespace)
    assert other.doctor().ok


def test_a_missing_index_is_made_anew(filled: FluxMem, broken: Break) -> None:
    broken("DROP INDEX memory_text")
    found = checks(filled.doctor())["indexes"]
    assert "memory_text is missing" in found.detail
    assert filled.doctor(fix=True).ok
    assert filled.search("boats pier", top_k=1)[0].content == "Boats leave pier 4 at ten."


def test_a_failed_index_of_others_is_named_and_left(filled: FluxMem, broken: Break) -> None:
    broken("CREATE (:Foreign {namespace: $ns, text: $text})", text="x" * 40_000)
    broken("CREATE INDEX foreign_text FOR (f:Foreign) ON (f.text)")
    try:
        with pytest.raises(Exception, match="foreign_text"):
            broken("CALL db.awaitIndex('foreign_text', 30)")
        found = checks(filled.doctor(fix=True))["indexes"]
        assert not found.ok
        assert "foreign_text failed" in found.detail
        assert found.fix == "DROP INDEX `foreign_text`"
    finally:
        broken("DROP INDEX foreign_text")


def test_another_embedder_is_a_finding_and_changes_nothing(
    filled: FluxMem, server_settings: Settings
) -> None:
    settings = filled.settings.model_copy(update={"embedder": "no-such-folder/of/a/model"})
    found = FluxMem.diagnose(settings.model_copy(update={"embedder": "hashing"}))
    assert found.ok
    filled.database.call("MATCH (s:SchemaVersion) SET s.embedding_model = 'other'")
    try:
        check = checks(filled.doctor(fix=True))["embedder"]
        assert not check.ok
        assert "other" in check.detail
        assert check.fix
        assert "FLUXMEM_EMBEDDER=other" in check.fix
    finally:
        filled.database.call("MATCH (s:SchemaVersion) SET s.embedding_model = $name", name="hashing-384")


def test_a_schema_of_another_version_is_a_finding(filled: FluxMem) -> None:
    filled.database.call("MATCH (s:SchemaVersion {version: 1}) SET s.kept = s.checksum, s.checksum = 'other'")
    try:
        check = checks(filled.doctor(fix=True))["schema"]
        assert "001" in check.detail
    finally:
        filled.database.call("MATCH (s:SchemaVersion {version: 1}) SET s.checksum = s.kept REMOVE s.kept")


def test_a_server_that_does_not_answer_is_the_one_finding(server_settings: Settings) -> None:
    found = FluxMem.diagnose(server_settings, neo4j_uri="bolt://127.0.0.1:1")
    assert findings(found) == {"connection"}
    assert "bolt://127.0.0.1:1" in found.checks[0].detail


def test_procedures_are_compared_by_signature() -> None:
    wanted = {"fluxmem.a": "fluxmem.a() :: (id :: STRING)"}
    assert plugin_check(wanted, wanted, embedded=True).ok
    assert plugin_check({}, wanted, embedded=False).ok
    assert not plugin_check({}, wanted, embedded=True).ok
    other = plugin_check({"fluxmem.a": "fluxmem.a() :: (id :: INTEGER)"}, wanted, embedded=False)
    assert not other.ok
    assert other.fix
    assert "procedures build" in other.fix


@pytest.fixture(autouse=True)
def _healthy_afterwards(connected: FluxMem) -> Iterator[None]:
    """A test that breaks what all share must have mended it."""
    yield
    assert {check.name for check in connected.doctor().checks[:6] if not check.ok} == set()
