// fluxmem.internal.lease(namespace :: STRING, owner :: STRING, seconds :: INTEGER) :: (owner :: STRING, until :: ZONED DATETIME)
//
// Take or renew the lease on a namespace's consolidation; the row names who has it.
//
// It ends by itself, so that a killed process blocks nobody for long.
//
// mode: WRITE
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
SET tenant.namespace = tenant.namespace // takes the lock before the state is read
WITH tenant, datetime() AS now
WITH tenant, now, tenant.lease_owner = $owner OR coalesce(tenant.lease_until <= now, true) AS free
SET tenant.lease_owner = CASE WHEN free THEN $owner ELSE tenant.lease_owner END,
  tenant.lease_until = CASE WHEN free THEN now + duration({seconds: $seconds}) ELSE tenant.lease_until END
RETURN tenant.lease_owner AS owner, tenant.lease_until AS until
