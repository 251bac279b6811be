// fluxmem.internal.fixLog(namespace :: STRING) :: (fixed :: INTEGER)
//
// Take the texts out of entries about nothing, as an erasure does, and bring the counter up to the last entry.
//
// mode: WRITE
CYPHER 25
CALL () {
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq IS NOT NULL
    AND (operation.before IS NOT NULL OR operation.after IS NOT NULL) AND NOT EXISTS { (operation)-[:TOUCHED]->() }
  REMOVE operation.before, operation.after, operation.reason
  RETURN count(*) AS emptied
}
CALL () {
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq IS NOT NULL
  RETURN max(operation.seq) AS last
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = CASE WHEN tenant.seq < last THEN last ELSE tenant.seq END
RETURN emptied AS fixed
