// fluxmem.quarantined(namespace :: STRING, id = null :: STRING, top = 100 :: INTEGER) :: (id :: STRING, layer :: STRING, content :: STRING, why :: STRING, at :: ZONED DATETIME, actor :: STRING, source :: STRING, speaker :: STRING, version :: INTEGER, former :: STRING)
//
// What a guard keeps from being recalled, newest first, and why: all of it, or one memory.
//
// `former` is the text that a rewriting replaced, if that could be recalled.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory)
WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.status = 'quarantined'
  AND ($id IS NULL OR memory.id = $id)
CALL (memory) {
  MATCH (memory)<-[:TOUCHED]-(operation:Operation {kind: 'quarantine'})
  RETURN operation ORDER BY coalesce(operation.undone, false), operation.seq DESC LIMIT 1
}
OPTIONAL MATCH (memory)-[:SUPERSEDES]->(former:Memory {version: memory.version - 1, status: 'superseded'})
  WHERE EXISTS { (memory)<-[:TOUCHED]-(edit:Operation {kind: 'update', seq: operation.seq - 1})
    WHERE NOT edit.before CONTAINS '"status"' }
RETURN memory.id AS id, memory.layer AS layer, memory.content AS content, operation.reason AS why, operation.at AS at,
  operation.actor AS actor, memory.source AS source, memory.speaker AS speaker, memory.version AS version,
  former.content AS former
ORDER BY operation.seq DESC LIMIT $top
