// fluxmem.internal.redact(namespace :: STRING, kind :: STRING, rows :: LIST<MAP>) :: (id :: STRING)
//
// Replace texts of nodes of one kind (memory, step, operation, or namespace by its name): maps of id and properties.
//
// What a memory was before an operation goes too, so that no undo of that one brings a text back.
//
// mode: WRITE
CYPHER 25
UNWIND $rows AS row
CALL (row) {
  WITH * WHERE $kind = 'memory'
  MATCH (node:Memory {namespace: $namespace, id: row.id})
  RETURN node
  UNION ALL
  WITH * WHERE $kind = 'step'
  MATCH (node:Step {namespace: $namespace, id: row.id})
  RETURN node
  UNION ALL
  WITH * WHERE $kind = 'operation'
  MATCH (node:Operation {namespace: $namespace, id: row.id})
  RETURN node
  UNION ALL
  WITH * WHERE $kind = 'namespace' AND row.id = $namespace
  MATCH (node:Namespace {name: $namespace})
  RETURN node
}
SET node += row.properties
WITH node, row
CALL (node) {
  WITH * WHERE $kind = 'memory'
  MATCH (node)<-[touched:TOUCHED]-(operation:Operation)
  WHERE touched.content IS NOT NULL
  SET operation.redacted = true
  REMOVE touched.content, touched.embedding, touched.trajectory_embedding, touched.outcome
}
RETURN row.id AS id
