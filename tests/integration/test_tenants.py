"""Namespaces never see each other: rows 5 and 6 of the pitfalls."""

from collections.abc import Callable

import pytest

from fluxmem_graph import FluxMem, NewMemory
from fluxmem_graph.errors import ConfigurationError, NotFound
from tests.integration.conftest import Tenants
from tests.integration.graphs import count_nodes, snapshot

TEXT = "Marie Curie worked with Pierre Curie in Paris."


@pytest.fixture
def pair(tenant: Tenants) -> tuple[FluxMem, FluxMem]:
    """Two tenants that hold memories about the same names."""
    both = tenant(), tenant()
    for number, memory in enumerate(both):
        memory.add(TEXT, title="Marie Curie", source="lives.md")
        memory.add(f"Pierre Curie told secret {number} to Marie Curie.", source="lives.md")
        episode = memory.start_episode("read about Marie Curie")
        memory.step(episode, "a page", activated=memory.search("Curie"))
        memory.feedback(episode, 1.0, used=[memory.match()[0].id])
        memory.end_episode(episode, 1.0)
    return both


def ids(memory: FluxMem) -> set[str]:
    rows = memory.database.call("MATCH (n:Memory {namespace: $n}) RETURN n.id AS id", n=memory.namespace)
    return {row["id"] for row in rows}


def test_many_namespaces_share_one_connection(memory: FluxMem, tenant: Tenants) -> None:
    other = memory.within(tenant().namespace)
    fact = other.add(TEXT)
    assert other.database is memory.database
    assert [hit.id for hit in other.search(TEXT)] == [fact.id]
    assert memory.search(TEXT) == ()
    with pytest.raises(ConfigurationError, match="namespace"):
        memory.within("")


def test_nothing_of_another_tenant_is_found(pair: tuple[FluxMem, FluxMem]) -> None:
    ours, theirs = pair
    assert ids(ours).isdisjoint(ids(theirs))
    for query in ("Marie Curie", "Pierre Curie secret", TEXT, "read about Marie Curie"):
        found = ours.activate(query, top_k=50)
        hits = {hit.id for hit in (*found.facts, *found.episodes, *found.skills)}
        assert hits
        assert hits <= ids(ours)
        assert all(other not in step for hit in found.facts for step in hit.path for other in ids(theirs))
        assert set(ours.context(query, budget=10_000).cited) <= ids(ours)
    assert {m.id for m in ours.match()} <= ids(ours)
    assert {t for o in ours.log() for t in o.touched}.isdisjoint(t for o in theirs.log() for t in o.touched)


def test_another_tenants_ids_are_unknown_to_every_call(pair: tuple[FluxMem, FluxMem]) -> None:
    ours, theirs = pair
    fact, operation = theirs.match()[0].id, theirs.log()[-1].id
    episode = theirs.start_episode("a run")
    theirs.step(episode, "seen")
    own = ours.start_episode("a run")
    ours.step(own, "seen")
    hits = theirs.search("Curie")
    calls: list[Callable[[], object]] = [
        lambda: ours.get(fact),
        lambda: ours.update(fact, "changed"),
        lambda: ours.delete(fact),
        lambda: ours.undo(operation),
        lambda: ours.episode(episode),
        lambda: ours.step(episode, "seen"),
        lambda: ours.feedback(episode, 0.0),
        lambda: ours.end_episode(episode),
        lambda: ours.step(own, "seen", activated=hits),
        lambda: ours.feedback(own, 1.0, used=[fact]),
        lambda: ours.feedback(own, 1.0, unused=[fact]),
    ]
    before = snapshot(ours), snapshot(theirs), ours.log(), theirs.log()
    for call in calls:
        with pytest.raises(NotFound):
            call()
    assert ours.log(fact) == []
    assert (snapshot(ours), snapshot(theirs), ours.log(), theirs.log()) == before


def test_no_link_crosses_tenants(pair: tuple[FluxMem, FluxMem]) -> None:
    rows = pair[0].database.call(
        "MATCH (a)-[r]->(b) WHERE a.namespace IN $names AND a.namespace <> b.namespace "
        "RETURN count(r) AS links",
        names=[memory.namespace for memory in pair],
    )
    assert rows[0]["links"] == 0


def test_erasing_one_tenant_leaves_the_other_as_it_was(pair: tuple[FluxMem, FluxMem]) -> None:
    ours, theirs = pair
    before = snapshot(theirs), theirs.log(), count_nodes(theirs)
    ours.erase_namespace()
    assert ids(ours) == set()
    assert (snapshot(theirs), theirs.log(), count_nodes(theirs)) == before
    assert theirs.search("secret")[0].content.startswith("Pierre Curie told secret 1")


def test_nearer_memories_of_another_tenant_cost_no_result(tenant: Tenants) -> None:
    ours, theirs = tenant(), tenant()
    ours.add_many([NewMemory(f"note {n} on gardens and rain") for n in range(10)])
    theirs.add_many([NewMemory(f"tulips in spring {n}") for n in range(60)])
    for vector in (True, False):
        query = "tulips in spring" if vector else "gardens"
        given = ours.embedder.embed([query])[0].tolist() if vector else None
        hits = ours.formation.activate_vector(query, given, top_k=5, where={}).facts
        assert len(hits) == 5
        assert all("gardens" in hit.content for hit in hits)


def test_a_bare_search_is_full_though_more_than_it_looks_at_are_nearer_elsewhere(tenant: Tenants) -> None:
    ours, theirs = tenant(), tenant()
    ours.add_many([NewMemory(f"note {n} on gardens and rain") for n in range(10)])
    theirs.add_many([NewMemory(f"tulips in spring {n}") for n in range(90)])
    vector = ours.embedder.embed(["tulips in spring"])[0].tolist()
    found = ours.database.call("CALL fluxmem.search($n, $vector, 5)", n=ours.namespace, vector=vector)
    assert len(found) == 5
    assert {row["id"] for row in found} <= ids(ours)


@pytest.mark.parametrize(
    "name", ["a'b", 'a" OR 1=1 //', "*", "ns* OR namespace_key:*", "名前", "a:b^0 +c", "\\"]
)
def test_any_name_is_a_tenant_of_its_own(tenant: Tenants, name: str) -> None:
    other, plain = tenant(), tenant()
    other.namespace = f"{plain.namespace} {name}"
    other.add("Marie Curie has a secret.")
    plain.add("Pierre Curie has a garden.")
    assert [hit.content for hit in other.search("Curie secret garden")] == ["Marie Curie has a secret."]
    assert [hit.content for hit in plain.search("Curie secret garden")] == ["Pierre Curie has a garden."]
