// fluxmem.internal.embed(namespace :: STRING, model :: STRING, rows :: LIST<MAP>, beside :: BOOLEAN) :: (embedded :: INTEGER)
//
// Give memories new vectors: maps of id, of (from `internal.unembedded`), embedding and, for episodes, trajectory_embedding.
//
// `beside`: next to the vectors in use, which stay. Vectors follow from the texts, so the log has no entry of it. A memory
// that has changed since it was read is left out.
//
// mode: WRITE
CYPHER 25
UNWIND $rows AS row
MATCH (memory:Memory {namespace: $namespace, id: row.id})
WITH memory, row ORDER BY memory.key
SET memory.namespace = memory.namespace // takes the lock before the state is read
WITH memory, row
WHERE row.of = [toFloat(coalesce(memory.version, 0))] + coalesce(memory.embedding, [])[..4]
CALL db.create.setNodeVectorProperty(memory, CASE WHEN $beside THEN 'next_embedding' ELSE 'embedding' END,
  toFloatList(row.embedding))
WITH memory, row
CALL (memory, row) {
  WITH * WHERE $beside
  SET memory.next_model = $model, memory.next_of = row.of, memory.next_trajectory = CASE WHEN row.trajectory_embedding IS NOT NULL
    THEN toFloatList(row.trajectory_embedding) END
}
CALL (memory, row) {
  WITH * WHERE NOT $beside
  SET memory.embedding_model = $model, memory.trajectory_embedding = CASE WHEN row.trajectory_embedding IS NOT NULL
    THEN toFloatList(row.trajectory_embedding) END
}
RETURN count(*) AS embedded
