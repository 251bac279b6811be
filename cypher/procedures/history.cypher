// fluxmem.history(namespace :: STRING, id = null :: STRING, beforeSeq = 9223372036854775807 :: INTEGER, top = 100 :: INTEGER, kinds = [] :: LIST<STRING>, byActor = null :: STRING, runId = null :: STRING, since = null :: ZONED DATETIME, until = null :: ZONED DATETIME) :: (seq :: INTEGER, id :: STRING, kind :: STRING, actor :: STRING, reason :: STRING, at :: ZONED DATETIME, run_id :: STRING, before :: STRING, after :: STRING, touched :: LIST<STRING>, undone :: BOOLEAN, erased :: BOOLEAN)
//
// The operation log, newest first: of one memory, or of the whole namespace when id is null.
//
// `kinds`, `byActor`, `runId`, `since` and `until` (both included) keep what matches. `erased` rows are tombstones:
// their texts are gone, `seq`, `id` and `kind` stay.
//
// mode: READ
CYPHER 25
CALL () {
  WITH * WHERE $id IS NULL AND $runId IS NULL
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq < $beforeSeq
    AND ($kinds = [] OR operation.kind IN $kinds) AND operation.actor = coalesce($byActor, operation.actor)
    AND operation.at >= coalesce($since, operation.at) AND operation.at <= coalesce($until, operation.at)
  RETURN operation ORDER BY operation.seq DESC LIMIT $top
  UNION ALL
  WITH * WHERE $id IS NULL AND $runId IS NOT NULL
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.run_id = $runId AND operation.seq < $beforeSeq
    AND ($kinds = [] OR operation.kind IN $kinds) AND operation.actor = coalesce($byActor, operation.actor)
    AND operation.at >= coalesce($since, operation.at) AND operation.at <= coalesce($until, operation.at)
  RETURN operation ORDER BY operation.seq DESC LIMIT $top
  UNION ALL
  WITH * WHERE $id IS NOT NULL
  MATCH (:Memory {namespace: $namespace, id: $id})<-[:TOUCHED]-(operation:Operation)
  WHERE operation.seq < $beforeSeq AND coalesce(operation.run_id, '') = coalesce($runId, operation.run_id, '')
    AND ($kinds = [] OR operation.kind IN $kinds) AND operation.actor = coalesce($byActor, operation.actor)
    AND operation.at >= coalesce($since, operation.at) AND operation.at <= coalesce($until, operation.at)
  RETURN DISTINCT operation ORDER BY operation.seq DESC LIMIT $top
}
RETURN operation.seq AS seq, operation.id AS id, operation.kind AS kind, operation.actor AS actor,
  coalesce(operation.reason, '') AS reason, operation.at AS at, operation.run_id AS run_id, operation.before AS before,
  operation.after AS after, COLLECT { MATCH (operation)-[:TOUCHED]->(node) RETURN DISTINCT node.id ORDER BY node.id } AS touched,
  coalesce(operation.undone, false) AS undone, coalesce(operation.erased, false) AS erased
ORDER BY seq DESC
