// fluxmem.internal.exportNamespace(namespace :: STRING) :: (seq :: INTEGER, importing :: STRING, properties :: LIST<ANY>)
//
// A namespace's own node without its names: where its log stands, what its writers have counted, its settings.
//
// mode: READ
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
RETURN tenant.seq AS seq, tenant.importing AS importing,
  [name IN keys(tenant) WHERE NOT name IN ['name', 'namespace', 'id', 'key', 'importing', 'import_offset', 'lease_owner', 'lease_until'] | CASE
    WHEN valueType(tenant[name]) STARTS WITH 'ZONED DATETIME' THEN [name, 'time', toString(tenant[name])]
    ELSE [name, 'plain', tenant[name]] END] AS properties
