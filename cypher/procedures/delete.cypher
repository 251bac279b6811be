// fluxmem.delete(namespace :: STRING, id :: STRING, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING, runId = null :: STRING) :: (id :: STRING, seq :: INTEGER)
//
// Take a memory out of retrieval; it stays in the graph, and undo brings it back.
//
// mode: WRITE
CYPHER 25
MATCH (memory:Memory {namespace: $namespace, id: $id})
SET memory.namespace = memory.namespace // takes the lock before the status is read
WITH memory, memory.status AS status, datetime() AS now
WHERE NOT status IN ['deleted', 'superseded']
SET memory.status = 'deleted', memory.recorded_to = now
WITH memory, status, now
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'delete',
  actor: $actor, reason: $reason, at: now, before: '{"status":"' + status + '"}', after: '{"status":"deleted"}'
})-[:TOUCHED]->(memory)
SET operation.run_id = $runId
RETURN memory.id AS id, operation.seq AS seq
