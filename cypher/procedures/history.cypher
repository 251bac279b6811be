// fluxmem.history(namespace :: STRING, id = null :: STRING, beforeSeq = 9223372036854775807 :: INTEGER, top = 100 :: INTEGER) :: (seq :: INTEGER, id :: STRING, kind :: STRING, actor :: STRING, reason :: STRING, at :: ZONED DATETIME, run_id :: STRING, before :: STRING, after :: STRING, touched :: LIST<STRING>)
//
// The operation log, newest first: of one memory, or of the whole namespace when id is null.
//
// mode: READ
CYPHER 25
CALL () {
  WITH * WHERE $id IS NULL
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq < $beforeSeq
  RETURN operation ORDER BY operation.seq DESC LIMIT $top
  UNION ALL
  WITH * WHERE $id IS NOT NULL
  MATCH (:Memory {namespace: $namespace, id: $id})<-[:TOUCHED]-(operation:Operation)
  WHERE operation.seq < $beforeSeq
  RETURN DISTINCT operation ORDER BY operation.seq DESC LIMIT $top
}
RETURN operation.seq AS seq, operation.id AS id, operation.kind AS kind, operation.actor AS actor,
  operation.reason AS reason, operation.at AS at, operation.run_id AS run_id, operation.before AS before,
  operation.after AS after, COLLECT { MATCH (operation)-[:TOUCHED]->(node) RETURN DISTINCT node.id ORDER BY node.id } AS touched
ORDER BY seq DESC
