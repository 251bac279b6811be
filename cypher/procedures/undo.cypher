// fluxmem.undo(namespace :: STRING, operationId :: STRING, newOperationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING) :: (id :: STRING, kind :: STRING, refused :: STRING, seq :: INTEGER)
//
// Take back one operation on a memory; the undoing is an operation itself.
//
// `refused` says why nothing changed: an undo, an operation undone already, or a memory changed since.
// A created memory becomes deleted, an updated one gets its former version back, a deleted one its status.
// Feedback and what followed from it are counted back in any order: counts add up, so later ones stay. A version of
// a skill that was made becomes deleted, a reviewed one gets its former state.
//
// mode: WRITE
CYPHER 25
MATCH (operation:Operation {namespace: $namespace, id: $operationId})
SET operation.namespace = operation.namespace // takes the lock before the state is read
// One undo at a time: counts are read before they are set.
WITH operation
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq
WITH operation, datetime() AS now, operation.kind IN ['feedback', 'expand', 'prune', 'reshape'] AS learned,
  operation.kind IN ['skill', 'approve', 'rollback', 'retire'] AS reviewed
MATCH (operation)-[change:TOUCHED]->(memory:Memory)
WHERE NOT learned OR memory.layer = 'episodic'
WITH operation, now, learned, reviewed, memory ORDER BY coalesce(change.created, false) DESC LIMIT 1
OPTIONAL MATCH (memory)-[supersedes:SUPERSEDES]->(former:Memory)
  WHERE operation.kind = 'update' AND former.version = memory.version - 1
WITH operation, memory, learned, reviewed, supersedes, former, now, CASE
    WHEN NOT learned AND NOT reviewed
      AND NOT operation.kind IN ['create', 'revive', 'update', 'delete', 'quarantine', 'verify', 'release', 'drop']
      THEN 'operations of kind ' + operation.kind + ' have no undo'
    WHEN operation.undone THEN 'it is undone already'
    WHEN NOT learned AND EXISTS { (memory)<-[:TOUCHED]-(later:Operation)
      WHERE later.seq > operation.seq
        AND later.kind IN ['create', 'revive', 'update', 'delete', 'quarantine', 'verify', 'release', 'drop']
        AND NOT coalesce(later.undone, false) }
      THEN 'the memory has changed since; undo the later operations first'
    WHEN reviewed AND EXISTS { (operation)-[:TOUCHED]->(:Memory)<-[:TOUCHED]-(later:Operation)
      WHERE later.seq > operation.seq AND later.kind IN ['skill', 'approve', 'rollback', 'retire', 'delete']
        AND NOT coalesce(later.undone, false) }
      THEN 'the skill has changed since; undo the later operations first'
  END AS refused
CALL (operation, reviewed, refused, now) {
  WITH * WHERE refused IS NULL AND reviewed
  MATCH (operation)-[change:TOUCHED]->(version:Memory)
  SET version.status = CASE WHEN change.created THEN 'deleted' ELSE change.status END,
    version.review = coalesce(change.review, version.review),
    version.recorded_to = CASE WHEN change.created OR change.status = 'superseded' THEN now END
}
CALL (operation, memory, learned, refused) {
  WITH * WHERE refused IS NULL AND learned
  MATCH (operation)-[vote:TOUCHED]->(fact:Memory)
  WHERE vote.link IS NOT NULL
  MATCH (fact)-[link:SUPPORTS|ASSOCIATED]->(:Memory {namespace: $namespace, id: coalesce(vote.other, memory.id)})
  WHERE type(link) = vote.link
  SET link.successes = round(link.successes - vote.gain, 6), link.failures = round(link.failures - vote.loss, 6)
  SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures)
  WITH collect(DISTINCT link) AS links
  UNWIND links AS link
  WITH link WHERE link.successes = 0 AND link.failures = 0 AND link.origin = 'feedback'
  DELETE link
}
CALL (operation, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'feedback'
  MATCH (operation)-[:TOUCHED]->(step:Step)
  REMOVE step.success, step.feedback
}
CALL (operation, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'prune'
  MATCH (operation)-[:TOUCHED]->(step:Step)
  MATCH (operation)-[:TOUCHED {hidden: true}]->(fact:Memory)
  MATCH (step)-[activated:ACTIVATED]->(fact)
  SET activated.pruned = false
}
CALL (operation, refused, now) {
  WITH * WHERE refused IS NULL
  MATCH (operation)-[change:TOUCHED]->(rewriting:Memory)
  WHERE change.promoted AND rewriting.status = 'active' OR change.reshaped
  SET rewriting.status = CASE WHEN change.promoted THEN 'local' ELSE 'deleted' END,
    rewriting.recorded_to = CASE WHEN change.promoted THEN null ELSE now END
}
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
  WITH * WHERE refused IS NULL AND operation.kind = 'update'
  // A memory that took the former text since, and is deleted, must not hold its key.
  MATCH (other:Memory {namespace: $namespace, key: left(former.key, size(former.key) - size('@' + former.version))})
  WHERE other.status = 'deleted' AND other <> memory
  SET other.key = other.key + '@' + other.id
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
      WHEN 'delete', 'quarantine', 'verify', 'release', 'drop' THEN split(operation.before, '"')[3]
      ELSE memory.status END,
    memory.recorded_to = CASE WHEN operation.kind IN ['create', 'revive'] THEN now
      WHEN operation.kind IN ['delete', 'drop'] THEN null ELSE memory.recorded_to END,
    memory.verified = CASE WHEN operation.kind = 'verify' THEN null ELSE memory.verified END,
    memory.claim = CASE WHEN operation.kind = 'verify' THEN null ELSE memory.claim END,
    operation.undone = true, tenant.seq = tenant.seq + 1
  CREATE (undoing:Operation {
    namespace: $namespace, id: coalesce($newOperationId, randomUUID()), seq: tenant.seq, kind: 'undo',
    actor: $actor, reason: $reason, at: now, run_id: operation.run_id, before: null,
    after: '{"undoes":"' + operation.id + '"}'
  })-[:TOUCHED]->(memory)
  RETURN collect(undoing.seq) AS seqs
}
RETURN memory.id AS id, operation.kind AS kind, refused, head(seqs) AS seq
