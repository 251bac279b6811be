// fluxmem.internal.beginImport(namespace :: STRING, digest :: STRING, seq :: INTEGER, merge :: BOOLEAN, properties :: MAP, times :: MAP) :: (begun :: BOOLEAN, empty :: BOOLEAN, importing :: STRING, offset :: INTEGER)
//
// Reserve the numbers of an imported log, and mark the namespace until `internal.endImport`.
//
// `begun` is false, and nothing is changed, when the namespace holds something and neither `merge` is true nor the
// same file (`digest`) is half imported. What a new namespace's own node holds is taken from the file.
//
// mode: WRITE
CYPHER 25
MERGE (tenant:Namespace {name: $namespace})
  ON CREATE SET tenant.namespace = $namespace, tenant.id = randomUUID(), tenant.seq = 0,
    tenant.key = 'ns' + replace(randomUUID(), '-', ''), tenant.created_at = datetime()
SET tenant.namespace = $namespace // takes the lock before the state is read
WITH tenant, tenant.importing AS importing, tenant.seq = 0 AND NOT EXISTS {
  MATCH (memory:Memory) WHERE memory.namespace = $namespace AND memory.id IS NOT NULL } AS empty
WITH tenant, importing, empty, importing = $digest AS resumed, importing IS NULL AND (empty OR $merge) AS fresh
CALL (tenant, empty, fresh) {
  WITH * WHERE fresh
  SET tenant.importing = $digest, tenant.import_offset = tenant.seq, tenant.seq = tenant.seq + $seq
  WITH * WHERE empty
  SET tenant += $properties
  UNWIND keys($times) AS name
  SET tenant[name] = datetime($times[name])
}
RETURN fresh OR coalesce(resumed, false) AS begun, empty, importing, tenant.import_offset AS offset
