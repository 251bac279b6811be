"""The same graph through neomodel."""

from urllib.parse import quote

import neomodel

from fluxmem_graph import FluxMem, Settings


def test_objects_show_what_was_stored(server_settings: Settings, memory: FluxMem) -> None:
    from fluxmem_graph.graph.models import Episodic, Semantic

    fact = memory.add("Boats to Bergen leave pier 4.", source="notes.md", title="Bergen ferry")
    episode = memory.start_episode("Catch the boat")
    memory.step(episode, "At the harbour", "walk to pier 4", activated=memory.search("Which pier?"))
    password = server_settings.neo4j_password
    assert password is not None
    address = str(server_settings.neo4j_uri).removeprefix("bolt://")
    neomodel.get_config().database_url = (
        f"bolt://{server_settings.neo4j_username}:{quote(password.get_secret_value())}@{address}"
    )
    stored = Semantic.nodes.get(namespace=memory.namespace, memory_id=fact.id)
    assert (stored.content, stored.version, stored.status) == (fact.content, 1, "active")
    assert [source.uri for source in stored.sources] == ["notes.md"]
    assert [entity.name for entity in stored.about] == ["Bergen ferry"]
    assert stored.recorded_from == fact.recorded_from
    run = Episodic.nodes.get(namespace=memory.namespace, memory_id=episode)
    (step,) = run.steps
    assert [found.memory_id for found in step.activated] == [fact.id]
