// fluxmem.internal.scratchpad(namespace :: STRING) :: (text :: STRING)
//
// The scratchpad of a namespace, empty until it is first written.
//
// mode: READ
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
RETURN coalesce(tenant.scratchpad, '') AS text
