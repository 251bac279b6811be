// fluxmem.release(namespace :: STRING, id :: STRING, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING, runId = null :: STRING) :: (id :: STRING, seq :: INTEGER)
//
// Let a quarantined memory be recalled; undo quarantines it again.
//
// mode: WRITE
CYPHER 25
MATCH (memory:Memory {namespace: $namespace, id: $id})
SET memory.namespace = memory.namespace // takes the lock before the status is read
WITH memory
WHERE memory.status = 'quarantined'
SET memory.status = 'active'
WITH memory
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'release',
  actor: $actor, reason: $reason, at: datetime(), before: '{"status":"quarantined"}', after: '{"status":"active"}'
})-[:TOUCHED]->(memory)
SET operation.run_id = $runId
RETURN memory.id AS id, operation.seq AS seq
