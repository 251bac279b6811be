// fluxmem.internal.endImport(namespace :: STRING, digest :: STRING) :: (name :: STRING)
//
// Take the mark of an import off a namespace, once all of the file is there, and count its memories.
//
// As for a quota: former versions don't count. What was merged came beside what was counted before.
//
// mode: WRITE
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
WHERE tenant.importing = $digest
SET tenant.namespace = $namespace // takes the lock before the memories are counted
WITH tenant, COUNT {
  MATCH (memory:Memory)
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND NOT EXISTS { (memory)<-[:SUPERSEDES]-() } } AS count
// One that never held any has no counter: the same contents give the same bytes.
SET tenant.memories = CASE WHEN count = coalesce(tenant.memories, 0) THEN tenant.memories ELSE count END
REMOVE tenant.importing, tenant.import_offset
RETURN tenant.name AS name
