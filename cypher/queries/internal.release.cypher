// fluxmem.internal.release(namespace :: STRING, owner :: STRING, seq = null :: INTEGER) :: (name :: STRING)
//
// Give a lease back; with `seq`, skills are made of all that the log had until then.
//
// mode: WRITE
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
WHERE tenant.lease_owner = $owner
SET tenant.lease_owner = null, tenant.lease_until = null,
  tenant.consolidated_seq = coalesce($seq, tenant.consolidated_seq)
RETURN tenant.name AS name
