// fluxmem.internal.namespaces() :: (name :: STRING, seq :: INTEGER, memories :: INTEGER, quota :: INTEGER, created_at :: ZONED DATETIME)
//
// All tenants of the database, with the number of their last operation and of their memories, and their quota.
//
// mode: READ
// scope: global
CYPHER 25
MATCH (tenant:Namespace)
RETURN tenant.name AS name, tenant.seq AS seq, coalesce(tenant.memories, 0) AS memories, tenant.quota AS quota,
  tenant.created_at AS created_at
ORDER BY name
