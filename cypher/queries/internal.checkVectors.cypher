// fluxmem.internal.checkVectors(namespace :: STRING, model :: STRING, dimension :: INTEGER) :: (problem :: STRING, count :: INTEGER, examples :: LIST<STRING>)
//
// Memories that a search by meaning misses: without a vector, or with one of another length or model.
//
// The database stores a vector of another length without a word, and leaves it out of the index. A running
// episode gets its vectors at its end.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory)
WHERE memory.namespace = $namespace AND memory.id IS NOT NULL
WITH memory, CASE
    WHEN memory.embedding IS NULL AND memory.status IN ['active', 'local', 'quarantined'] THEN 'missing'
    WHEN size(memory.embedding) <> $dimension OR size(memory.trajectory_embedding) <> $dimension THEN 'of another length'
    WHEN memory.embedding IS NOT NULL AND memory.embedding_model <> $model THEN 'of another model'
  END AS problem
WHERE problem IS NOT NULL
RETURN problem, count(*) AS count, collect(memory.id)[..3] AS examples
ORDER BY problem
