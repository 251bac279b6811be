// fluxmem.read(namespace :: STRING, ids :: LIST<STRING>) :: (id :: STRING, layer :: STRING, name :: STRING, content :: STRING, status :: STRING, version :: INTEGER, key :: STRING, external_id :: STRING, source :: STRING, speaker :: STRING, occurred_at :: ZONED DATETIME, recorded_from :: ZONED DATETIME, recorded_to :: ZONED DATETIME, embedding_model :: STRING, metadata :: STRING, entities :: LIST<STRING>)
//
// Memories of any layer and status by their ids, in the order asked.
//
// mode: READ
CYPHER 25
UNWIND range(0, size($ids) - 1) AS position
MATCH (memory:Memory {namespace: $namespace, id: $ids[position]})
RETURN memory.id AS id, memory.layer AS layer, memory.name AS name, memory.content AS content,
  memory.status AS status, memory.version AS version, memory.key AS key, memory.external_id AS external_id,
  memory.source AS source, memory.speaker AS speaker, memory.occurred_at AS occurred_at,
  memory.recorded_from AS recorded_from, memory.recorded_to AS recorded_to,
  memory.embedding_model AS embedding_model, memory.metadata AS metadata,
  COLLECT { MATCH (memory)-[:MENTIONS]->(entity:Entity) RETURN entity.name ORDER BY entity.name } AS entities
ORDER BY position
