"""Two tenants with the same small graph under other names, on a real server."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime

import neo4j
import pytest

from fluxmem_graph.settings import Settings
from fluxmem_graph.statements import load_catalogue
from tests.contract.samples import vector

SMALL_GRAPH = """CYPHER 25
CREATE (:Namespace {namespace: $tenant, name: $tenant, id: $tenant + '-namespace', key: $key, seq: 5,
  lease_owner: $tenant + '-owner'})
CREATE (source:Source {namespace: $tenant, id: $tenant + '-source', uri: $tenant + '-file'})
CREATE (entity:Entity {namespace: $tenant, id: $tenant + '-entity', key: 'ada', name: 'Ada ' + $tenant})
CREATE (episode:Memory:Episodic {namespace: $tenant, id: $tenant + '-episode', key: $tenant + '-episode',
  namespace_key: $key, layer: 'episodic', status: 'active', version: 1, name: 'task',
  content: $tenant + ' task', task: $tenant + ' task', success: 1.0, started_at: $now,
  recorded_from: $now, metadata: '{}', tags: []})
CREATE (episode)-[:HAS_STEP]->(step:Step {namespace: $tenant, id: $tenant + '-step', index: 0,
  observation: $tenant + ' sees', action: 'look', created_at: $now})
CREATE (episode)-[:DISTILLED_INTO]->(skill:Memory:Procedural {namespace: $tenant, id: $tenant + '-skill',
  key: $tenant + '-skill', namespace_key: $key, layer: 'procedural', status: 'candidate', version: 1,
  skill_id: $tenant + '-skill', review: 'candidate', name: $tenant + ' skill', content: $tenant + ' steps',
  steps: ['look'], pitfalls: [], slots: '{}', pems: 0.2, pems_success: 1.0, pems_length: 32, pems_drift: 0.0,
  settled: true, recorded_from: $now, valid_from: $now, metadata: '{}', tags: []})
WITH *
CALL () {
  UNWIND range(1, 2) AS n
  CREATE (ended:Memory:Episodic {namespace: $tenant, id: $tenant + '-ended-' + n,
    key: $tenant + '-ended-' + n, namespace_key: $key, layer: 'episodic', status: 'active', version: 1,
    name: 'ended task', content: $tenant + ' ended task', task: $tenant + ' ended task',
    started_at: $now, ended_at: $now, valid_from: $now, recorded_from: $now, metadata: '{}', tags: []})
  CREATE (ended)-[:HAS_STEP]->(seen:Step {namespace: $tenant, id: $tenant + '-ended-step-' + n, index: 0,
    observation: $tenant + ' sees', action: ''})
  CREATE (ended)-[:HAS_STEP]->(done:Step {namespace: $tenant, id: $tenant + '-ended-later-' + n, index: 1,
    observation: $tenant + ' is done', action: ''})
  CREATE (seen)-[:NEXT]->(done)
}
CREATE (held:Memory:Semantic {namespace: $tenant, id: $tenant + '-memory-5', key: $tenant + '-key-5',
  namespace_key: $key, layer: 'semantic', status: 'quarantined', version: 1, name: 'held',
  content: $tenant + ' held', recorded_from: $now, metadata: '{}', tags: []})
CREATE (:Operation {namespace: $tenant, id: $tenant + '-operation-5', seq: 5, kind: 'quarantine',
  actor: 'test', reason: $tenant + ' reason', at: $now})-[:TOUCHED]->(held)
WITH *
UNWIND range(1, 4) AS n
CREATE (m:Memory:Semantic {namespace: $tenant, id: $tenant + '-memory-' + n, key: $tenant + '-key-' + n,
  namespace_key: $key, external_id: $tenant + '-turn-' + n, layer: 'semantic', status: 'active', version: 1,
  name: $tenant + ' name ' + n, content: $tenant + ' Ada knows fact ' + n, content_hash: 'h' + n,
  embedding_model: 'test', source: source.uri, speaker: 'Ada', occurred_at: $now, valid_from: $now,
  recorded_from: $now, metadata: '{"topic":"tea"}', tags: ['topic=s:tea']})
CREATE (m)-[:FROM]->(source), (m)-[:MENTIONS {title: false}]->(entity)
CREATE (m)-[:SUPPORTS {weight: 0.5, successes: 1, failures: 0}]->(episode)
CREATE (:Operation {namespace: $tenant,
  id: $tenant + CASE n WHEN 1 THEN '-operation' ELSE '-operation-' + n END,
  seq: n, kind: 'create', actor: 'test', reason: $tenant + ' reason', at: $now})-[:TOUCHED]->(m)
WITH m, n ORDER BY n
CALL (m, n) { CALL db.create.setNodeVectorProperty(m, 'embedding', $vectors[n - 1]) }
WITH collect(m) AS memories
UNWIND range(0, size(memories) - 2) AS i
WITH memories[i] AS earlier, memories[i + 1] AS later
CREATE (earlier)-[:NEXT]->(later)
CREATE (earlier)-[:ASSOCIATED {weight: 0.5, successes: 0, failures: 0, origin: 'similarity',
  tentative: true}]->(later)
"""


@dataclass(frozen=True)
class Graph:
    """A driver, and two tenants that hold the same under other names."""

    driver: neo4j.Driver
    database: str
    tenant: str
    other: str
    dimension: int

    def session(self) -> neo4j.Session:
        return self.driver.session(database=self.database)


@pytest.fixture(scope="session")
def graph(server_settings: Settings) -> Iterator[Graph]:
    password = server_settings.neo4j_password
    assert server_settings.neo4j_uri and password
    auth = (server_settings.neo4j_username, password.get_secret_value())
    with neo4j.GraphDatabase.driver(server_settings.neo4j_uri, auth=auth) as driver:
        mark = uuid.uuid4().hex[:8]
        database = server_settings.neo4j_database
        dimension = prepare_schema(driver, database)
        made = Graph(driver, database, f"contract-a-{mark}", f"contract-b-{mark}", dimension)
        try:
            for tenant in (made.tenant, made.other):
                load_small_graph(made, tenant)
            driver.execute_query("CALL db.index.fulltext.awaitEventuallyConsistentIndexRefresh()")
            yield made
        finally:
            driver.execute_query(
                "MATCH (n) WHERE n.namespace IN $tenants DETACH DELETE n", tenants=[made.tenant, made.other]
            )


def prepare_schema(driver: neo4j.Driver, database: str) -> int:
    """Apply the schema files where they are missing, and return the dimension of the vector index."""
    for step in load_catalogue().schema:
        for text in step.statements:
            driver.execute_query(text, dimension=384, database_=database)
    for name in ("memory_embedding", "memory_text"):
        driver.execute_query("CALL db.awaitIndex($name, 60)", name=name, database_=database)
    found = driver.execute_query(
        "SHOW VECTOR INDEXES YIELD name, options WHERE name = 'memory_embedding'", database_=database
    )
    return int(found.records[0]["options"]["indexConfig"]["vector.dimensions"])


def load_small_graph(graph: Graph, tenant: str) -> None:
    graph.driver.execute_query(
        SMALL_GRAPH,
        tenant=tenant,
        key="ns" + uuid.uuid4().hex,
        now=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        vectors=[vector(graph.dimension, n) for n in range(1, 5)],
        database_=graph.database,
    )
