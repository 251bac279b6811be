// fluxmem.internal.fixLog(namespace :: STRING) :: (fixed :: INTEGER)
//
// Make tombstones of entries about nothing, as an erasure does, and bring the counter up to the last entry.
//
// Only entries that store nothing: of a memory deleted past the log, its other entries are the last copy.
//
// mode: WRITE
CYPHER 25
CALL () {
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq IS NOT NULL
    AND operation.kind IN ['delete', 'revive', 'source', 'undo', 'quarantine', 'verify', 'release', 'drop', 'prune',
      'approve', 'rollback', 'retire']
    AND (operation.before IS NOT NULL OR operation.after IS NOT NULL) AND NOT EXISTS { (operation)-[:TOUCHED]->() }
  SET operation.erased = true, operation.reason = ''
  REMOVE operation.before, operation.after
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
