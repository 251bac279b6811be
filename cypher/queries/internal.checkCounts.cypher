// fluxmem.internal.checkCounts(namespace :: STRING) :: (submitted :: INTEGER, stored :: INTEGER)
//
// How many facts the log says were stored, and how many there are.
//
// Versions that are not in use any more and rewritings are made from facts, and entries that an erasure emptied
// count no more. A fact that was merged with an imported one has the entries of both, and counts once.
//
// mode: READ
CYPHER 25
CALL () {
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq IS NOT NULL AND operation.kind = 'create'
    AND (operation.after IS NOT NULL OR EXISTS { (operation)-[:TOUCHED]->() })
  OPTIONAL MATCH (operation)-[:TOUCHED]->(memory:Memory)
  RETURN count(DISTINCT coalesce(memory.id, operation.id)) AS submitted
}
CALL () {
  MATCH (memory:Memory)
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.layer = 'semantic'
    AND memory.status <> 'superseded' AND NOT EXISTS { (memory)<-[:SUPERSEDES]-() }
    AND NOT EXISTS { (memory)-[:RESHAPES]->() }
  RETURN count(*) AS stored
}
RETURN submitted, stored
