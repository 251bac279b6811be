// fluxmem.drop(namespace :: STRING, id :: STRING, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING, runId = null :: STRING) :: (id :: STRING, seq :: INTEGER)
//
// Delete a quarantined memory; undo quarantines it again.
//
// mode: WRITE
CYPHER 25
MATCH (memory:Memory {namespace: $namespace, id: $id})
SET memory.namespace = memory.namespace // takes the lock before the status is read
WITH memory
WHERE memory.status = 'quarantined'
SET memory.status = 'deleted', memory.recorded_to = datetime()
WITH memory
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'drop',
  actor: $actor, reason: $reason, at: datetime(), before: '{"status":"quarantined"}', after: '{"status":"deleted"}'
})-[:TOUCHED]->(memory)
SET operation.run_id = $runId
RETURN memory.id AS id, operation.seq AS seq
