// fluxmem.internal.setVectors(namespace :: STRING, rows :: LIST<MAP>) :: (id :: STRING)
//
// Give memories their vectors: maps of id, content (the memory must still hold it), model and vectors (a map).
//
// mode: WRITE
CYPHER 25
UNWIND $rows AS row
MATCH (memory:Memory {namespace: $namespace, id: row.id})
WHERE memory.content = row.content
SET memory.embedding_model = row.model
SET memory.trajectory_embedding = CASE WHEN row.vectors.trajectory_embedding IS NULL THEN memory.trajectory_embedding
  ELSE toFloatList(row.vectors.trajectory_embedding) END
WITH memory, row
CALL (memory, row) {
  WITH * WHERE row.vectors.embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(memory, 'embedding', toFloatList(row.vectors.embedding))
}
RETURN memory.id AS id
