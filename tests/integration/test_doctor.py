"""Each finding of the doctor, had by really breaking the graph, and what `fix` makes of it."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from fluxmem_graph import FluxMem, Outcome, Settings
from fluxmem_graph.operations.doctor import plugin_check
from fluxmem_graph.types import Check, Diagnosis

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
}


@pytest.mark.parametrize("name", UNSAFE)
def test_what_may_lose_something_is_left_to_a_person(filled: FluxMem, broken: Break, name: str) -> None:
    text, check, said = UNSAFE[name]
    broken(text)
    before = filled.stats()["memory"]
    found = checks(filled.doctor(fix=True))[check]
    assert not found.ok or name == "a memory that was deleted past the log"
    assert said in checks(filled.doctor())[check].detail or found.ok
    assert found.fix or found.ok
    assert filled.stats()["memory"] == before


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
