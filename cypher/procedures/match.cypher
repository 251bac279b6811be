// fluxmem.match(namespace :: STRING, tags = [] :: LIST<STRING>, layer = null :: STRING, status = active :: STRING, afterId =  :: STRING, top = 100 :: INTEGER) :: (id :: STRING, layer :: STRING, name :: STRING, content :: STRING, status :: STRING, version :: INTEGER, key :: STRING, external_id :: STRING, source :: STRING, speaker :: STRING, occurred_at :: ZONED DATETIME, recorded_from :: ZONED DATETIME, recorded_to :: ZONED DATETIME, embedding_model :: STRING, metadata :: STRING, entities :: LIST<STRING>)
//
// Memories that carry every given tag (`key=type:value`), by id; page on with the last id seen.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory)
WHERE memory.namespace = $namespace AND memory.id > $afterId AND memory.status = $status
  AND ($layer IS NULL OR memory.layer = $layer) AND all(tag IN $tags WHERE tag IN memory.tags)
WITH memory ORDER BY memory.id LIMIT $top
RETURN memory.id AS id, memory.layer AS layer, memory.name AS name, memory.content AS content,
  memory.status AS status, memory.version AS version, memory.key AS key, memory.external_id AS external_id,
  memory.source AS source, memory.speaker AS speaker, memory.occurred_at AS occurred_at,
  memory.recorded_from AS recorded_from, memory.recorded_to AS recorded_to,
  memory.embedding_model AS embedding_model, memory.metadata AS metadata,
  COLLECT { MATCH (memory)-[:MENTIONS]->(entity:Entity) RETURN entity.name ORDER BY entity.name } AS entities
ORDER BY id
