// fluxmem.internal.eraseMemories(namespace :: STRING, ids :: LIST<STRING>, operationId :: STRING, actor :: STRING) :: (memories :: INTEGER, steps :: INTEGER, tombstones :: INTEGER, entities :: INTEGER, sources :: INTEGER, seq :: INTEGER)
//
// Destroy memories with their steps, and the names and sources that nothing else has.
//
// An operation that touched nothing else, or rewrote one of them, becomes a tombstone: its number, id and kind stay, its texts go.
//
// mode: WRITE
CYPHER 25
UNWIND $ids AS id
MATCH (memory:Memory {namespace: $namespace, id: id})
WITH collect(memory) AS memories, count(memory) AS found,
  sum(CASE WHEN EXISTS { (memory)<-[:SUPERSEDES]-() } THEN 0 ELSE 1 END) AS counted
WITH memories, found, counted,
  COLLECT { UNWIND memories AS memory MATCH (memory)-[:HAS_STEP]->(step:Step) RETURN DISTINCT step } AS steps,
  COLLECT { UNWIND memories AS memory MATCH (memory)<-[:TOUCHED]-(operation:Operation) RETURN DISTINCT operation } AS operations,
  COLLECT {
    UNWIND memories AS memory
    MATCH (memory)<-[:TOUCHED {reshaped: true}]-(made:Operation)-[:TOUCHED]->(:Memory)<-[:TOUCHED]-(undoing:Operation)
    WHERE undoing.kind = 'undo' AND undoing.after CONTAINS made.id
    UNWIND [made, undoing] AS operation
    RETURN DISTINCT operation
    UNION
    UNWIND memories AS memory
    MATCH (memory)<-[:TOUCHED {reshaped: true}]-(operation:Operation)
    RETURN operation
  } AS gone,
  COLLECT { UNWIND memories AS memory MATCH (memory)-[:MENTIONS|ABOUT]->(entity:Entity) RETURN DISTINCT entity } AS entities,
  COLLECT { UNWIND memories AS memory MATCH (memory)-[:FROM]->(source:Source) RETURN DISTINCT source } AS sources
WITH memories, found, counted, steps, size(steps) AS stepCount, operations, gone, entities, sources
CALL (memories, steps) {
  UNWIND steps + memories AS node
  DETACH DELETE node
}
CALL (operations, gone) {
  UNWIND operations + gone AS operation
  WITH DISTINCT operation, gone
  WHERE operation IN gone OR NOT EXISTS { (operation)-[:TOUCHED]->(:Memory) }
  SET operation.erased = true, operation.reason = ''
  REMOVE operation.before, operation.after, operation.cited
  WITH operation
  OPTIONAL MATCH (operation)-[touched:TOUCHED]->()
  DELETE touched
  RETURN count(DISTINCT operation) AS tombstones
}
CALL (entities) {
  UNWIND entities AS entity
  WITH entity WHERE NOT EXISTS { (entity)<-[:MENTIONS|ABOUT]-() }
  DETACH DELETE entity
  RETURN count(*) AS orphans
}
CALL (sources) {
  UNWIND sources AS source
  WITH source WHERE NOT EXISTS { (source)<-[:FROM]-() }
  DETACH DELETE source
  RETURN count(*) AS places
}
CALL () {
  MATCH (source:Source)
  WHERE source.namespace = $namespace AND source.uri IS NOT NULL AND source.episode_id IN $ids
  REMOVE source.episode_id
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1, tenant.memories = tenant.memories - counted
CREATE (operation:Operation {namespace: $namespace, id: $operationId, seq: tenant.seq, kind: 'erase', actor: $actor,
  reason: '', at: datetime(), after: '{"memories":' + found + ',"steps":' + stepCount + ',"tombstones":' + tombstones + '}'})
RETURN found AS memories, stepCount AS steps, tombstones, orphans AS entities, places AS sources, tenant.seq AS seq
