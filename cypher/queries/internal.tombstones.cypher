// fluxmem.internal.tombstones(namespace :: STRING, rows :: LIST<MAP>) :: (seq :: INTEGER)
//
// Give the log the numbers of operations whose texts were erased, as maps of id, seq, kind and actor.
//
// mode: WRITE
CYPHER 25
MERGE (tenant:Namespace {name: $namespace})
  ON CREATE SET tenant.namespace = $namespace, tenant.id = randomUUID(), tenant.seq = 0,
    tenant.key = 'ns' + replace(randomUUID(), '-', ''), tenant.created_at = datetime()
WITH tenant
UNWIND $rows AS row
CREATE (operation:Operation {namespace: $namespace, id: row.id, seq: row.seq, kind: row.kind, actor: row.actor,
  reason: '', at: datetime(), erased: true})
SET tenant.seq = CASE WHEN row.seq > tenant.seq THEN row.seq ELSE tenant.seq END
RETURN operation.seq AS seq
