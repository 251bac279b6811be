// fluxmem.internal.exchange(namespace :: STRING, model :: STRING, afterId =  :: STRING, top = 100 :: INTEGER) :: (last :: STRING)
//
// Put the vectors that stand beside those in use in their place, of up to `top` memories by id.
//
// `last` is the last id seen, null at the end. Vectors of another model than this are dropped, and those of memories
// that have changed since they were made.
//
// mode: WRITE
CYPHER 25
MATCH (memory:Memory)
WHERE memory.namespace = $namespace AND memory.id > $afterId AND memory.next_embedding IS NOT NULL
WITH memory ORDER BY memory.id LIMIT $top
SET memory.namespace = memory.namespace // takes the lock before the state is read
WITH memory, memory.next_model = $model
  AND memory.next_of = [toFloat(coalesce(memory.version, 0))] + coalesce(memory.embedding, [])[..4] AS fits
CALL (memory, fits) {
  WITH * WHERE fits
  CALL db.create.setNodeVectorProperty(memory, 'embedding', memory.next_embedding)
}
CALL (memory, fits) {
  WITH * WHERE fits
  SET memory.embedding_model = $model, memory.trajectory_embedding = memory.next_trajectory
}
REMOVE memory.next_embedding, memory.next_trajectory, memory.next_model, memory.next_of
RETURN max(memory.id) AS last
