// fluxmem.internal.fixIdentity(namespace :: STRING) :: (fixed :: INTEGER)
//
// Give the nodes of a namespace the ids that they lack, and its memories their keys.
//
// Nothing refers to an id that is null, so any new one will do.
//
// mode: WRITE
// scope: global
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
SET tenant.id = coalesce(tenant.id, randomUUID())
WITH tenant
MATCH (node:Memory|Step|Entity|Source|Operation)
WHERE node.namespace = $namespace
  AND (node.id IS NULL OR node:Memory AND (node.key IS NULL OR node.namespace_key IS NULL))
SET node.id = coalesce(node.id, randomUUID())
WITH tenant, node
CALL (tenant, node) {
  WITH * WHERE node:Memory
  SET node.key = coalesce(node.key, node.id), node.namespace_key = coalesce(node.namespace_key, tenant.key)
}
RETURN count(*) AS fixed
