// fluxmem.internal.unembedded(namespace :: STRING, model :: STRING, dimension :: INTEGER, beside :: BOOLEAN, marked = false :: BOOLEAN, afterId =  :: STRING, top = 100 :: INTEGER) :: (id :: STRING, layer :: STRING, name :: STRING, content :: STRING, speaker :: STRING, rewritten :: BOOLEAN, task :: STRING, observations :: LIST<STRING>, actions :: LIST<STRING>, of :: LIST<FLOAT>)
//
// Memories whose vector is not one of this model and length, by id, with what their vector is made from.
//
// `beside`: the vector that `reembed` writes beside the one in use is looked at. `marked`: only those of which
// `internal.redact` took a text. `of` says of which state this is told. Page on with the last id seen.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory)
WHERE memory.namespace = $namespace AND memory.id > $afterId
WITH memory, [toFloat(coalesce(memory.version, 0))] + coalesce(memory.embedding, [])[..4] AS of
WHERE (NOT $marked OR memory.embedding_model = '')
  AND (memory.embedding IS NOT NULL OR memory.status IN ['active', 'local', 'quarantined'])
  AND CASE WHEN $beside THEN memory.next_embedding IS NULL OR memory.next_model <> $model
      // The text has changed since, and the vector in use with it.
      OR memory.next_of <> of
    ELSE memory.embedding IS NULL OR size(memory.embedding) <> $dimension OR memory.embedding_model <> $model
      OR size(memory.trajectory_embedding) <> $dimension END
WITH memory, of ORDER BY memory.id LIMIT $top
RETURN memory.id AS id, memory.layer AS layer, memory.name AS name, memory.content AS content,
  memory.speaker AS speaker, EXISTS { (memory)-[:RESHAPES]->() } AS rewritten, memory.task AS task,
  COLLECT { MATCH (memory)-[:HAS_STEP]->(step:Step) RETURN step.observation ORDER BY step.index } AS observations,
  COLLECT { MATCH (memory)-[:HAS_STEP]->(step:Step) RETURN coalesce(step.action, '') ORDER BY step.index } AS actions, of
ORDER BY id
