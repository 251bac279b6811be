// fluxmem.internal.checkLog(namespace :: STRING) :: (problem :: STRING, count :: INTEGER, examples :: LIST<STRING>)
//
// Where the log and the memories differ: entries about nothing, memories that no entry made, a counter left behind.
//
// An entry whose texts are gone is what an erasure leaves, and no finding; a note and an erasure are about the
// namespace itself. What an undo took away stands beside its memory, whose entries are its own.
//
// mode: READ
CYPHER 25
CALL () {
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq IS NOT NULL
    AND NOT operation.kind IN ['note', 'erase'] AND (operation.before IS NOT NULL OR operation.after IS NOT NULL)
    AND NOT EXISTS { (operation)-[:TOUCHED]->() }
  // The kinds that store nothing; an entry of any other may be the last copy of what was deleted past the log.
  RETURN CASE WHEN operation.kind IN ['delete', 'revive', 'source', 'undo', 'quarantine', 'verify', 'release', 'drop', 'prune',
      'approve', 'rollback', 'retire'] THEN 'touches nothing' ELSE 'lost what it stored' END AS problem, operation.id AS example
  UNION ALL
  MATCH (memory:Memory)
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.status <> 'superseded'
    AND NOT EXISTS { (memory)<-[:TOUCHED]-() } AND NOT EXISTS { (memory)<-[:SUPERSEDES]-() }
  RETURN 'memory without an entry' AS problem, memory.id AS example
  UNION ALL
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq IS NOT NULL
  WITH operation ORDER BY operation.seq DESC LIMIT 1
  MATCH (tenant:Namespace {name: $namespace})
  WHERE tenant.seq < operation.seq
  RETURN 'counter behind' AS problem, operation.id AS example
}
RETURN problem, count(*) AS count, collect(example)[..3] AS examples
ORDER BY problem
