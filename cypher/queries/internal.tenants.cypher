// fluxmem.internal.tenants() :: (name :: STRING)
//
// The names of all namespaces of the database.
//
// mode: READ
// scope: global
CYPHER 25
MATCH (tenant:Namespace)
RETURN tenant.name AS name ORDER BY name
