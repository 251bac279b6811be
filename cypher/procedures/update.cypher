// fluxmem.update(namespace :: STRING, id :: STRING, content :: STRING, change = {} :: MAP, actor = driver :: STRING, reason =  :: STRING, runId = null :: STRING) :: (id :: STRING, version :: INTEGER, seq :: INTEGER)
//
// Replace the content of a memory that is retrievable; the former version stays as a superseded node.
//
// The memory keeps its id and its links; the copy takes the id `ID@VERSION` and is linked by SUPERSEDES. Verified is
// a text, not a memory: the copy keeps that.
// `change` may hold key, name, text, content_hash, embedding, embedding_model, metadata (JSON text), tags,
// mentions (entities as maps of key and name), phrases (keys of names that it mentions if some memory is about
// them), operation_id and after (JSON text of the new state); statuses (those that the memory may have instead, such as
// deleted: it becomes active), unless_verified (then a verified one is left alone) and restores (the number of a former
// version whose text comes back, verified if it was).
// Without an embedding the memory is found by its words and links only.
//
// mode: WRITE
CYPHER 25
MATCH (memory:Memory {namespace: $namespace, id: $id})
SET memory.namespace = memory.namespace // takes the lock before the status is read
WITH memory, memory.version AS version, memory.status AS status, datetime() AS now
WHERE status IN coalesce($change.statuses, ['active', 'candidate', 'local'])
  AND NOT (coalesce($change.unless_verified, false) AND coalesce(memory.verified, false))
OPTIONAL MATCH (memory)-[:SUPERSEDES]->(restored:Memory {version: $change.restores, status: 'superseded'})
SET memory.version = version + 1
WITH memory, restored, version, status, now
CREATE (former:$(labels(memory)))
// One that was deleted was not there until now.
SET former = memory {.*, id: memory.id + '@' + version, key: memory.key + '@' + version, version: version,
  status: 'superseded', recorded_to: coalesce(memory.recorded_to, now)}
CREATE (memory)-[:SUPERSEDES]->(former)
WITH memory, former, status, now, CASE WHEN memory.content = $content THEN memory ELSE restored END AS vouched
SET memory.verified = vouched.verified, memory.claim = vouched.claim, memory.claim_values = vouched.claim_values,
  memory.status = CASE WHEN status IN ['quarantined', 'deleted'] THEN 'active' ELSE status END, memory.recorded_to = null
WITH memory, former, status, now
CALL (memory, former) {
  MATCH (memory)-[mention:MENTIONS]->(entity:Entity)
  CREATE (former)-[:MENTIONS]->(entity)
  DELETE mention
}
CALL (memory) {
  UNWIND coalesce($change.mentions, []) AS item
  MERGE (entity:Entity {namespace: $namespace, key: item.key})
    ON CREATE SET entity.id = randomUUID(), entity.name = item.name
  CREATE (memory)-[:MENTIONS]->(entity)
}
CALL (memory) {
  UNWIND coalesce($change.phrases, []) AS key
  MATCH (entity:Entity {namespace: $namespace, key: key})
  WHERE EXISTS { (entity)<-[:ABOUT]-() }
  MERGE (memory)-[:MENTIONS]->(entity)
}
SET memory.content = $content, memory.text = coalesce($change.text, $content), memory.name = coalesce($change.name, left($content, 60)),
  memory.key = coalesce($change.key, memory.key), memory.content_hash = $change.content_hash,
  memory.embedding_model = $change.embedding_model, memory.embedding = null, memory.recorded_from = now,
  memory.metadata = coalesce($change.metadata, memory.metadata),
  memory.tags = coalesce($change.tags, memory.tags)
WITH memory, former, status, now
CALL (memory) {
  WITH * WHERE $change.embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(memory, 'embedding', toFloatList($change.embedding))
}
WITH memory, former, status, now
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($change.operation_id, randomUUID()), seq: tenant.seq, kind: 'update',
  actor: $actor, reason: $reason, at: now, before: '{"version":' + former.version
    + CASE memory.status WHEN status THEN '' ELSE ',"status":"' + status + '"' END + '}',
  after: coalesce($change.after, '{"content":"' + replace(replace($content, '\\', '\\\\'), '"', '\\"') + '"}')
})-[:TOUCHED]->(memory)
SET operation.run_id = $runId
RETURN memory.id AS id, memory.version AS version, operation.seq AS seq
