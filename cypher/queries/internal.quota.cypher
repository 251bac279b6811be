// fluxmem.internal.quota(namespace :: STRING, most :: INTEGER) :: (memories :: INTEGER, quota :: INTEGER)
//
// Set how many memories a namespace may hold, or lift that with null; its counter is counted anew.
//
// Former versions don't count; deleted memories do, since an undo brings them back.
//
// mode: WRITE
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
SET tenant.namespace = $namespace // takes the lock before the memories are counted
WITH tenant, COUNT {
  MATCH (memory:Memory)
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND NOT EXISTS { (memory)<-[:SUPERSEDES]-() } } AS count
SET tenant.memories = count, tenant.quota = $most
RETURN tenant.memories AS memories, tenant.quota AS quota
