"""A namespace as a file: what is exported, imported and exported again is the same, byte for byte."""

import json
import re
import tracemalloc
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings

from fluxmem_graph import FluxMem, NewEpisode, NewMemory, NewStep
from fluxmem_graph.errors import Conflict, EmbedderMismatch, FluxMemError, InvalidInput, NotFound
from fluxmem_graph.operations import moving
from fluxmem_graph.operations.lines import LABELS, TYPES, write
from fluxmem_graph.statements import load_catalogue
from tests.integration.conftest import Tenants
from tests.integration.graphs import count_nodes, snapshot
from tests.integration.histories import KINDS, LONG, Change, histories, play
from tests.integration.test_skills import NEWER, RUNS


def a_path(folder: Path) -> Path:
    return folder / f"{uuid.uuid4().hex}.jsonl"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("exports")


@pytest.fixture(scope="module")
def filled(tenant: Tenants) -> FluxMem:
    memory = tenant()
    play(memory, LONG)
    return memory


@pytest.fixture(scope="module")
def exported(filled: FluxMem, folder: Path) -> Path:
    path = a_path(folder)
    filled.export(path)
    return path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@given(history=histories)
@example(history=LONG)
@settings(max_examples=2, deadline=None)
def test_export_import_export_gives_the_same_file(
    tenant: Tenants, folder: Path, history: list[Change]
) -> None:
    memory, other = tenant(), tenant()
    memory.add("Tea is hot.", title="Tea", speaker="Ada")
    play(memory, history)
    first, second = a_path(folder), a_path(folder)
    memory.export(first)
    other.import_file(first)
    other.export(second)
    assert first.read_bytes() == second.read_bytes()
    assert snapshot(other) == _elsewhere(snapshot(memory), memory, other)
    assert [o.seq for o in other.log()] == [o.seq for o in memory.log()]


def _elsewhere(state: list[str], memory: FluxMem, other: FluxMem) -> list[str]:
    mine, theirs = _key(memory), _key(other)
    return sorted(line.replace(memory.namespace, other.namespace).replace(mine, theirs) for line in state)


def _key(memory: FluxMem) -> str:
    rows = memory.database.call(
        "MATCH (n:Namespace {name: $name}) RETURN n.key AS key", name=memory.namespace
    )
    return str(rows[0]["key"])


def test_a_file_holds_all_layers_links_versions_and_the_log(filled: FluxMem, exported: Path) -> None:
    assert set(KINDS) <= {change[0] for change in LONG} | {"undo"}
    found = lines(exported)
    assert [found[0]["kind"], found[1]["kind"], found[-1]["kind"]] == ["fluxmem", "namespace", "end"]
    statuses = {line["properties"].get("status") for line in found if line["kind"] == "memory"}
    assert statuses >= {"active", "candidate", "superseded", "deleted"}
    types = {line["type"] for line in found if line["kind"] == "link"}
    assert types >= {
        *("MENTIONS", "FROM", "HAS_STEP", "NEXT", "ACTIVATED", "SUPPORTS", "ASSOCIATED"),
        *("RESHAPES", "SUPERSEDES", "TOUCHED"),
    }
    operations = [line["properties"] for line in found if line["kind"] == "operation"]
    assert [operation["seq"] for operation in operations] == list(range(1, len(operations) + 1))
    assert {"create", "source", "update", "delete", "episode", "step", "feedback", "reshape", "end"} <= {
        operation["kind"] for operation in operations
    }
    assert filled.namespace not in exported.read_text()
    vectors = [line["properties"]["embedding"] for line in found if "embedding" in line.get("properties", {})]
    assert vectors and all(set(vector) == {"float32"} for vector in vectors)


def test_an_imported_namespace_goes_on_living(exported: Path, memory: FluxMem) -> None:
    memory.import_file(exported)
    last = memory.log()[0].seq
    assert memory.search("Who wrote to Ada?")[0].content.startswith("Grace wrote to Ada.")
    added = memory.add("The import is done.")
    assert memory.log()[0].seq == last + 1
    assert memory.search("Is the import done?")[0].id == added.id


def test_a_namespace_that_holds_something_needs_merge_and_then_keeps_it(
    exported: Path, filled: FluxMem, memory: FluxMem
) -> None:
    own = memory.add("Alan broke the Enigma code.", source="notes.md")
    extra = memory.add("Only here.")
    before, log = snapshot(memory), memory.log()
    with pytest.raises(Conflict, match="--merge"):
        memory.import_file(exported)
    assert (snapshot(memory), memory.log()) == (before, log)
    done = memory.import_file(exported, merge=True)
    assert done.known == 1
    assert memory.get(own.id) == own and memory.get(extra.id) == extra
    imported = memory.log(top=1000)[: -len(log)]
    assert [o.id for o in imported] == [o.id for o in filled.log(top=1000)]
    assert [o.seq - len(log) for o in imported] == [o.seq for o in filled.log(top=1000)]
    assert memory.log(top=1000)[-len(log) :] == log
    [counted] = [found.memories for found in memory.namespaces() if found.name == memory.namespace]
    assert counted == memory.set_quota(None)
    nodes = count_nodes(memory)
    assert memory.import_file(exported, merge=True).created == 0
    assert count_nodes(memory) == nodes


def test_an_interrupted_import_is_completed_by_the_same_file_only(
    exported: Path, tenant: Tenants, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, other = tenant(), tenant()
    monkeypatch.setattr(moving, "PAGE", 7)
    calls = 0

    def crash(done: int) -> None:
        nonlocal calls
        calls += 1
        if calls == 12:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        memory.import_file(exported, progress=crash)
    assert count_nodes(memory) > 1
    other.add("another")
    other.export(another := a_path(folder))
    with pytest.raises(Conflict, match="half of another file"):
        memory.import_file(another, merge=True)
    with pytest.raises(Conflict, match="half imported"):
        memory.export(a_path(folder))
    memory.import_file(exported)
    memory.export(again := a_path(folder))
    assert again.read_bytes() == exported.read_bytes()


def broken(exported: Path, folder: Path, how: str) -> Path:
    path, found = a_path(folder), exported.read_bytes().splitlines(keepends=True)
    middle = len(found) // 2
    edits = {
        "empty": [],
        "cut": found[:middle],
        "cut in a line": [*found[:middle], found[middle][:20]],
        "a line less": [*found[:middle], *found[middle + 1 :]],
        "edited": [line.replace(b"Turin", b"Milan") for line in found],
        "longer": [*found, found[middle]],
        "another format": [found[0].replace(b'"format":1', b'"format":99'), *found[1:]],
        "not JSON": [b"hello\n", *found],
        "nested without end": [b"[" * 100_000 + b"]" * 100_000 + b"\n", *found],
        "not an export": [b'{"text":"hello"}\n'],
        "a list": [b"[1]\n"],
        "another kind": [b'{"kind":"memory"}\n', *found],
    }
    path.write_bytes(b"".join(edits[how]))
    return path


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("empty", "cut short"),
        ("cut", "cut short"),
        ("cut in a line", "no JSON"),
        ("a line less", "changed after its export"),
        ("edited", "changed after its export"),
        ("longer", "after the end"),
        ("another format", "format 99"),
        ("not JSON", "no JSON"),
        ("nested without end", "no JSON"),
        ("not an export", "no line of an export"),
        ("a list", "no line of an export"),
        ("another kind", "not an export"),
    ],
)
def test_a_file_that_is_not_whole_is_refused_before_anything_is_written(
    exported: Path, folder: Path, memory: FluxMem, how: str, said: str
) -> None:
    path = broken(exported, folder, how)
    with pytest.raises(InvalidInput, match=said) as caught:
        memory.import_file(path)
    assert "\n" not in str(caught.value)
    assert count_nodes(memory) == 0


Forge = Callable[[list[dict[str, Any]]], object]


def forged(exported: Path, folder: Path, change: Forge) -> Path:
    """Write the file as somebody who knows how its digest is made would."""
    found = lines(exported)[:-1]
    change(found)
    with (path := a_path(folder)).open("wb") as file:
        write(iter(found), file)
    return path


def of_kind(found: list[dict[str, Any]], kind: str) -> dict[str, Any]:
    return next(line for line in found if line["kind"] == kind)


def holding(kind: str, **values: object) -> Forge:
    return lambda found: of_kind(found, kind)["properties"].update(values)


def being(kind: str, /, **values: object) -> Forge:
    return lambda found: of_kind(found, kind).update(values)


FORGED: dict[str, tuple[str, Forge]] = {
    **{
        f"{kind} of another tenant": ("sets namespace", holding(kind, namespace="victim"))
        for kind in ("namespace", "memory", "step", "entity", "source", "operation")
    },
    "a memory searched in another tenant": ("sets namespace_key", holding("memory", namespace_key="ns0")),
    **{
        f"a namespace with its own {name}": (f"sets {name}", holding("namespace", **{name: "x"}))
        for name in ("name", "key", "id", "lease_owner", "lease_until", "importing", "import_offset")
    },
    "a schema": ("has labels", being("memory", labels=["Semantic", "SchemaVersion"])),
    "a tenant": ("has labels", being("entity", labels=["Namespace"])),
    "a source that is a memory": ("has labels", being("source", labels=["Memory"])),
    "labels that are a text": ("has labels", being("step", labels="Step")),
    "a foreign link": ("type 'OWNS'", being("link", type="OWNS")),
    "a link from nowhere": ("two ends", being("link", of="namespace")),
    "a link to nowhere": ("two ends", being("link", to=["namespace", "x"])),
    "two ids": ("another id", holding("memory", id="x")),
    "two keys": ("another key", holding("entity", key="x")),
    "a foreign kind": ("kind 'user'", being("step", kind="user")),
    "two namespaces": ("kind 'namespace'", lambda found: found.insert(5, found[1])),
    "no place in the log": ("no seq", lambda found: of_kind(found, "operation")["properties"].pop("seq")),
    "a value of no form": ("no known form", holding("memory", metadata={"a": 1})),
    "no properties": ("no properties", lambda found: of_kind(found, "memory").pop("properties")),
}


@pytest.mark.parametrize("how", FORGED)
def test_what_no_export_writes_is_refused_before_anything_is_written(
    exported: Path, folder: Path, memory: FluxMem, how: str
) -> None:
    said, change = FORGED[how]
    path = forged(exported, folder, change)
    with pytest.raises(InvalidInput, match=said) as caught:
        memory.import_file(path)
    assert str(caught.value).endswith("nothing was imported")
    assert "\n" not in str(caught.value)
    assert count_nodes(memory) == 0


def test_the_known_labels_and_types_are_those_that_the_statements_write() -> None:
    bodies = [s.body for s in (*load_catalogue().procedures, *load_catalogue().queries)]
    types = {
        name
        for body in bodies
        for found in re.findall(r"\[\w*:([A-Z_|]+)", body)
        for name in found.split("|")
    }
    assert types == TYPES
    assert {label for labels in LABELS.values() for label in labels} == {
        *("Semantic", "Episodic", "Procedural", "Step", "Entity", "Source", "Operation")
    }


def test_labels_and_links_of_others_stay_out_of_the_file(
    memory: FluxMem, tenant: Tenants, folder: Path
) -> None:
    memory.add("Tea is hot.", source="notes.md")
    memory.export(first := a_path(folder))
    memory.database.call(
        "MATCH (m:Memory {namespace: $n})-[:FROM]->(s) SET m:Favourite CREATE (m)-[:LIKED]->(s), "
        "(m)-[:SEEN]->(:Visit {namespace: $n})",
        n=memory.namespace,
    )
    memory.export(second := a_path(folder))
    assert first.read_bytes() == second.read_bytes()
    (other := tenant()).import_file(second)
    assert other.search("tea")
    memory.database.call("MATCH (v:Visit {namespace: $n}) DETACH DELETE v", n=memory.namespace)


def test_vectors_of_another_model_are_refused_before_anything_is_written(
    exported: Path, folder: Path, memory: FluxMem
) -> None:
    found = exported.read_bytes().splitlines(keepends=True)
    path = a_path(folder)
    header = json.loads(found[0]) | {"embedding_model": "other", "dimension": 3}
    with path.open("wb") as file:
        write(iter([header, *map(json.loads, found[1:-1])]), file)
    with pytest.raises(EmbedderMismatch, match=r"other \(3 dimensions\).*hashing"):
        memory.import_file(path)
    assert count_nodes(memory) == 0


def test_a_namespace_that_is_not_there_gives_no_file(memory: FluxMem, folder: Path) -> None:
    path = a_path(folder)
    with pytest.raises(NotFound, match="fluxmem namespace list"):
        memory.export(path)
    assert not path.exists() and not path.with_name(path.name + ".part").exists()


def test_a_write_during_an_export_is_noticed_and_the_former_file_stays(
    tenant: Tenants, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory, path = tenant(), a_path(folder)
    memory.add("one")
    path.write_text("former")
    monkeypatch.setattr(moving, "PAGE", 1)

    def meddle(done: int) -> None:
        memory.add("meanwhile")

    with pytest.raises(Conflict, match="written to during the export"):
        memory.export(path, meddle)
    assert path.read_text() == "former"


def test_pages_of_any_size_give_the_same_file(
    filled: FluxMem, exported: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "PAGE", 3)
    filled.export(path := a_path(folder))
    assert path.read_bytes() == exported.read_bytes()


# Replay.


@given(history=histories)
@example(history=LONG)
@settings(max_examples=2, deadline=None)
def test_a_replayed_log_gives_an_equal_namespace(tenant: Tenants, history: list[Change]) -> None:
    memory, other = tenant(), tenant()
    memory.add("Tea is hot.", title="Tea", speaker="Ada Byron")
    play(memory, history)
    done = memory.replay(other.namespace)
    assert done.difference is None
    assert (done.operations, done.skipped) == (memory.log(top=1)[0].seq, 0)
    assert [(o.seq, o.id, o.kind, o.actor, o.reason, o.run_id) for o in other.log(top=1000)] == [
        (o.seq, o.id, o.kind, o.actor, o.reason, o.run_id) for o in memory.log(top=1000)
    ]


def test_a_replayed_namespace_is_searched_and_its_streams_go_on(filled: FluxMem, tenant: Tenants) -> None:
    other = tenant()
    filled.replay(other.namespace)
    query = "Who wrote to Ada?"
    assert [hit.id for hit in other.search(query)] == [hit.id for hit in filled.search(query)]
    open_episode = next(e.id for e in filled.episodes() if e.source == "default" and e.ended_at is None)
    assert other.observe("and then?").episode_id == open_episode


def test_skills_and_their_reviews_are_replayed_and_moved(tenant: Tenants, folder: Path) -> None:
    memory, other, third = tenant(), tenant(), tenant()
    memory.ingest(RUNS)
    memory.consolidate(apply=True)
    skill = memory.skills()[0].skill_id
    memory.approve_skill(skill)
    memory.ingest(NEWER)
    memory.consolidate(apply=True)
    memory.retire_skill(memory.skills()[0].skill_id)
    assert {"skill", "approve", "retire"} <= {o.kind for o in memory.log(top=1000)}
    assert memory.replay(other.namespace).difference is None
    memory.export(first := a_path(folder))
    third.import_file(first)
    third.export(second := a_path(folder))
    assert first.read_bytes() == second.read_bytes()


def test_an_ingest_is_replayed_in_its_batches(tenant: Tenants) -> None:
    memory, other = tenant(), tenant()
    turns = [NewMemory(f"Ada told {n}.", str(n), "chat", "Ada", session="1") for n in range(600)]
    memory.ingest([*turns, NewEpisode("count", (NewStep("seen", "done"),), success=1.0)])
    assert memory.replay(other.namespace).difference is None
    assert other.stats()["link"]["NEXT"] == 599


def test_a_difference_is_named(tenant: Tenants) -> None:
    memory, other = tenant(), tenant()
    fact = memory.add("Tea is hot.")
    memory.database.call(
        "MATCH (m:Memory {namespace: $n, id: $id}) SET m.content = 'Tea is cold.'",
        n=memory.namespace,
        id=fact.id,
    )
    assert memory.replay(other.namespace).difference == f"memory {fact.id}"


def test_replay_is_refused_into_itself_and_into_what_is_there(filled: FluxMem, memory: FluxMem) -> None:
    with pytest.raises(InvalidInput, match="itself"):
        filled.replay(filled.namespace)
    with pytest.raises(NotFound):
        memory.replay("nowhere")
    memory.add("something")
    with pytest.raises(Conflict, match="is there already"):
        filled.replay(memory.namespace)


def test_an_operation_that_a_driver_logged_without_its_arguments_is_named(tenant: Tenants) -> None:
    memory, other = tenant(), tenant()
    memory.database.call("CALL fluxmem.create($n, [{content: 'bare'}])", n=memory.namespace)
    with pytest.raises(FluxMemError, match=r"operation 1 .*pass `after`"):
        memory.replay(other.namespace)


def test_memory_use_does_not_grow_with_the_namespace(
    tenant: Tenants, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "PAGE", 50)
    peaks = []
    for facts in (300, 1500):
        memory, other = tenant(), tenant()
        memory.ingest([NewMemory(f"fact {n}", str(n), "s") for n in range(facts)])
        memory.export(path := a_path(folder))
        tracemalloc.start()
        memory.export(path)
        other.import_file(path)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.5 * peaks[0]
