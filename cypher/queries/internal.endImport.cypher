// fluxmem.internal.endImport(namespace :: STRING, digest :: STRING) :: (name :: STRING)
//
// Take the mark of an import off a namespace, once all of the file is there.
//
// mode: WRITE
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
WHERE tenant.importing = $digest
REMOVE tenant.importing, tenant.import_offset
RETURN tenant.name AS name
