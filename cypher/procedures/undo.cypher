// fluxmem.undo(namespace :: STRING, operationId :: STRING, newOperationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING) :: (id :: STRING, kind :: STRING, refused :: STRING, seq :: INTEGER)
//
// Take back one operation on a memory; the undoing is an operation itself.
//
// `refused` says why nothing changed: an undo, an operation undone already, or a memory changed since.
// A created memory becomes deleted, an updated one gets its former version back, a deleted one its status.
//
// mode: WRITE
CYPHER 25
MATCH (operation:Operation {namespace: $namespace, id: $operationId})-[:TOUCHED]->(memory:Memory)
SET operation.namespace = operation.namespace // takes the lock before the state is read
WITH operation, memory, datetime() AS now
OPTIONAL MATCH (memory)-[supersedes:SUPERSEDES]->(former:Memory)
  WHERE operation.kind = 'update' AND former.version = memory.version - 1
WITH operation, memory, supersedes, former, now, CASE
    WHEN NOT operation.kind IN ['create', 'revive', 'update', 'delete'] THEN 'operations of kind ' + operation.kind + ' have no undo'
    WHEN operation.undone THEN 'it is undone already'
    WHEN EXISTS { (memory)<-[:TOUCHED]-(later:Operation)
      WHERE later.seq > operation.seq AND later.kind <> 'undo' AND NOT coalesce(later.undone, false) }
      THEN 'the memory has changed since; undo the later operations first'
  END AS refused
CALL (operation, memory, former, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'update'
  MATCH (memory)-[mention:MENTIONS]->(:Entity)
  DELETE mention
}
CALL (operation, memory, former, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'update'
  MATCH (former)-[:MENTIONS]->(entity:Entity)
  CREATE (memory)-[:MENTIONS]->(entity)
}
CALL (operation, memory, former, refused) {
  WITH *, former {.*} AS state WHERE refused IS NULL AND operation.kind = 'update'
  DETACH DELETE former
  // All of it is replaced, since the former version may lack what the later one has.
  SET memory = state {.*, id: memory.id, status: memory.status, recorded_to: memory.recorded_to,
    key: left(state.key, size(state.key) - size('@' + state.version))}
}
CALL (operation, memory, refused, now) {
  WITH * WHERE refused IS NULL
  MATCH (tenant:Namespace {name: $namespace})
  SET memory.status = CASE operation.kind
      WHEN 'create' THEN 'deleted'
      WHEN 'revive' THEN 'deleted'
      WHEN 'delete' THEN split(operation.before, '"')[3]
      ELSE memory.status END,
    memory.recorded_to = CASE WHEN operation.kind IN ['create', 'revive'] THEN now ELSE null END,
    operation.undone = true, tenant.seq = tenant.seq + 1
  CREATE (undoing:Operation {
    namespace: $namespace, id: coalesce($newOperationId, randomUUID()), seq: tenant.seq, kind: 'undo',
    actor: $actor, reason: $reason, at: now, run_id: operation.run_id, before: null,
    after: '{"undoes":"' + operation.id + '"}'
  })-[:TOUCHED]->(memory)
  RETURN collect(undoing.seq) AS seqs
}
RETURN memory.id AS id, operation.kind AS kind, refused, head(seqs) AS seq
