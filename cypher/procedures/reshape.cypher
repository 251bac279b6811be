// fluxmem.reshape(namespace :: STRING, episodeId :: STRING, sources :: LIST<STRING>, rewriting :: MAP, operationId = null :: STRING, actor = driver :: STRING, after = null :: STRING, runId = null :: STRING) :: (id :: STRING, seq :: INTEGER)
//
// Rewrite facts into a finer or coarser one, seen only in this running episode until it has helped.
//
// `rewriting` is a map of content (required), id, key, name, text, content_hash, embedding and embedding_model. The
// facts that it stands for stay as they are. No row: the episode is unknown or not running, a source is, or the
// namespace is full.
//
// mode: WRITE
CYPHER 25
MATCH (room:Namespace {name: $namespace})
// With a quota the tenant is locked first, so that what fits is counted exactly.
CALL (room) {
  WITH * WHERE room.quota IS NOT NULL
  SET room.namespace = $namespace
}
WITH room
WHERE room.quota IS NULL OR coalesce(room.memories, 0) < room.quota
MATCH (episode:Memory:Episodic {namespace: $namespace, id: $episodeId})
SET episode.namespace = episode.namespace // takes the lock before the state is read
WITH episode, datetime() AS now
WHERE episode.ended_at IS NULL AND episode.status <> 'deleted' AND size($sources) > 0
  AND all(id IN $sources WHERE EXISTS {
    MATCH (source:Memory {namespace: $namespace, id: id}) WHERE source.layer = 'semantic' })
MATCH (first:Memory {namespace: $namespace, id: $sources[0]})
WITH episode, now, first, coalesce($rewriting.id, randomUUID()) AS id
CREATE (memory:Memory:Semantic {
  namespace: $namespace, id: id, key: coalesce($rewriting.key, id), layer: 'semantic', status: 'local', version: 1,
  namespace_key: episode.namespace_key, content: $rewriting.content,
  text: coalesce($rewriting.text, $rewriting.content), name: coalesce($rewriting.name, left($rewriting.content, 60)),
  metadata: first.metadata, tags: first.tags, recorded_from: now, valid_from: now
})
SET memory.content_hash = $rewriting.content_hash, memory.embedding_model = $rewriting.embedding_model,
  memory.speaker = CASE size($sources) WHEN 1 THEN first.speaker END, memory.occurred_at = first.occurred_at,
  memory.source = first.source
CREATE (memory)-[:SUPPORTS {successes: 0.0, failures: 0.0, weight: 0.5, origin: 'reshape', updated_at: now}]->(episode)
WITH episode, now, memory
CALL (memory) {
  WITH * WHERE $rewriting.embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(memory, 'embedding', toFloatList($rewriting.embedding))
}
CALL (memory) {
  UNWIND $sources AS id
  MATCH (source:Memory {namespace: $namespace, id: id})
  MERGE (memory)-[:RESHAPES]->(source)
}
CALL (memory) {
  UNWIND $sources AS id
  MATCH (:Memory {namespace: $namespace, id: id})-[:FROM]->(origin:Source)
  MERGE (memory)-[:FROM]->(origin)
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1, tenant.memories = coalesce(tenant.memories, 0) + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'reshape',
  actor: $actor, reason: '', at: now
})-[:TOUCHED]->(episode)
CREATE (operation)-[:TOUCHED {reshaped: true}]->(memory)
SET operation.after = $after, operation.run_id = $runId
RETURN memory.id AS id, operation.seq AS seq
