// fluxmem.internal.uncite(namespace :: STRING, uri :: STRING, rows :: LIST<MAP>) :: (id :: STRING)
//
// Take a source off memories that have another one: maps of id and source (one that is left).
//
// The operations that added it become tombstones, and that of the one which now counts as the first.
//
// mode: WRITE
CYPHER 25
UNWIND $rows AS row
MATCH (memory:Memory {namespace: $namespace, id: row.id})-[cited:FROM]->(source:Source {namespace: $namespace, uri: $uri})
DELETE cited
WITH memory, source, row, memory.source = $uri AS first
SET memory.source = CASE WHEN first THEN row.source ELSE memory.source END
WITH memory, source, row, first
CALL (memory, row, first) {
  MATCH (memory)<-[:TOUCHED]-(operation:Operation {kind: 'source'})
  WHERE operation.cited = $uri OR first AND operation.cited = row.source
  SET operation.erased = true, operation.reason = ''
  REMOVE operation.cited, operation.before, operation.after
  WITH operation
  MATCH (operation)-[touched:TOUCHED]->()
  DELETE touched
}
WITH memory.id AS id, source
CALL (source) {
  WITH * WHERE NOT EXISTS { (source)<-[:FROM]-() }
  DETACH DELETE source
}
RETURN id
