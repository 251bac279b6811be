// fluxmem.internal.redact(namespace :: STRING, kind :: STRING, rows :: LIST<MAP>) :: (id :: STRING)
//
// Replace texts of nodes of one kind (memory, step, operation, or namespace by its name): maps of id and properties.
//
// What a memory was before an operation goes too, so that no undo of that one brings a text back; of kind `former` are
// operations of which nothing else changes. Splits and merges pass steps on: what any episode was that a text may have
// come from goes. Vectors made of a text are marked by a model without a name, which `internal.unembedded` finds; of
// kind `erased` are episodes that will be destroyed, and lose theirs.
//
// mode: WRITE
CYPHER 25
UNWIND $rows AS row
CALL (row) {
  WITH * WHERE $kind IN ['memory', 'erased']
  MATCH (node:Memory {namespace: $namespace, id: row.id})
  RETURN node, node AS holder
  UNION ALL
  WITH * WHERE $kind = 'step'
  MATCH (node:Step {namespace: $namespace, id: row.id})
  OPTIONAL MATCH (node)<-[:HAS_STEP]-(holder:Memory)
  RETURN node, holder
  UNION ALL
  WITH * WHERE $kind IN ['operation', 'former']
  MATCH (node:Operation {namespace: $namespace, id: row.id})
  RETURN node, null AS holder
  UNION ALL
  WITH * WHERE $kind = 'namespace' AND row.id = $namespace
  MATCH (node:Namespace {name: $namespace})
  RETURN node, null AS holder
}
SET node += CASE $kind WHEN 'former' THEN {} ELSE row.properties END
WITH node, holder, row
CALL (node) {
  WITH * WHERE $kind = 'memory'
  MATCH (node)<-[touched:TOUCHED]-(operation:Operation)
  WHERE touched.content IS NOT NULL
  SET operation.redacted = true
  REMOVE touched.content, touched.embedding, touched.trajectory_embedding, touched.outcome
}
CALL (node) {
  WITH * WHERE $kind = 'former'
  SET node.redacted = true
  WITH node
  MATCH (node)-[touched:TOUCHED]->()
  REMOVE touched.content, touched.embedding, touched.trajectory_embedding, touched.outcome
}
WITH collect(row.id) AS ids, collect(DISTINCT holder) AS holders
CALL (holders) {
  UNWIND holders AS holder
  WITH holder WHERE holder.embedding IS NOT NULL
  SET holder.embedding_model = CASE $kind WHEN 'erased' THEN holder.embedding_model ELSE '' END, holder.next_embedding = null,
    holder.embedding = CASE $kind WHEN 'erased' THEN null ELSE holder.embedding END
}
CALL (holders) {
  UNWIND holders AS holder
  MATCH ANY SHORTEST (holder)
    (()<-[:TOUCHED]-(moving:Operation WHERE moving.kind IN ['split', 'merge'])-[:TOUCHED]->(:Episodic))*
    (related:Memory)
  WITH DISTINCT related
  MATCH (related)<-[touched:TOUCHED]-(operation:Operation)
  WHERE operation.kind IN ['split', 'merge'] AND touched.content IS NOT NULL
  SET operation.redacted = true
  REMOVE touched.content, touched.embedding, touched.trajectory_embedding, touched.outcome
}
UNWIND ids AS id
RETURN id
