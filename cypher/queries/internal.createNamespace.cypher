// fluxmem.internal.createNamespace(namespace :: STRING) :: (name :: STRING, created :: BOOLEAN)
//
// Make a namespace that holds nothing yet; one that is there stays as it is.
//
// mode: WRITE
CYPHER 25
MERGE (tenant:Namespace {name: $namespace})
  ON CREATE SET tenant.namespace = $namespace, tenant.id = randomUUID(), tenant.seq = 0, tenant.memories = 0,
    tenant.key = 'ns' + replace(randomUUID(), '-', ''), tenant.created_at = datetime(), tenant.fresh = true
WITH tenant, coalesce(tenant.fresh, false) AS created
REMOVE tenant.fresh
RETURN tenant.name AS name, created
