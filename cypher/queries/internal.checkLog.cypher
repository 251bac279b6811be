// fluxmem.internal.checkLog(namespace :: STRING) :: (problem :: STRING, count :: INTEGER, examples :: LIST<STRING>)
//
// Where the log and the memories differ: entries about nothing, memories that no entry made, a counter left behind.
//
// An entry whose texts are gone is what an erasure leaves, and no finding; a note is about the namespace itself.
//
// mode: READ
CYPHER 25
CALL () {
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq IS NOT NULL
    AND operation.kind <> 'note' AND (operation.before IS NOT NULL OR operation.after IS NOT NULL) AND NOT EXISTS { (operation)-[:TOUCHED]->() }
  RETURN 'touches nothing' AS problem, operation.id AS example
  UNION ALL
  MATCH (memory:Memory)
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.status <> 'superseded'
    AND NOT EXISTS { (memory)<-[:TOUCHED]-() }
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
