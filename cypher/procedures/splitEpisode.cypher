// fluxmem.splitEpisode(namespace :: STRING, episodeId :: STRING, at :: INTEGER, episode = {} :: MAP, embedding = null :: LIST<FLOAT>, trajectoryEmbedding = null :: LIST<FLOAT>, content = null :: STRING, embeddingModel = null :: STRING, steps = null :: INTEGER, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING, before = null :: STRING, after = null :: STRING) :: (id :: STRING, steps :: INTEGER, seq :: INTEGER)
//
// Move the steps of an ended episode from index `at` on into a new one, which ended as the old one did.
//
// `episode` is the new one as a map: id, task, name, content, content_hash, words, embedding,
// trajectory_embedding; its task is the first step's observation if none is given. The content and embeddings
// beside it are the old one's. Votes stay with the old one, which got them. No row: the episode is unknown, running or deleted, either
// part would be empty, or it has not as many `steps` as the caller knows of, or the namespace is full. `fluxmem.mergeEpisodes` is the inverse.
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
MATCH (former:Memory:Episodic {namespace: $namespace, id: $episodeId})
SET former.namespace = former.namespace // takes the lock before the steps are counted
WITH former, datetime() AS now, COUNT { (former)-[:HAS_STEP]->() } AS count
WHERE former.ended_at IS NOT NULL AND former.status <> 'deleted' AND $at > 0 AND $at < count
  AND coalesce($steps, count) = count
MATCH (former)-[:HAS_STEP]->(step:Step {index: $at})
WITH former, now, former {.content, .embedding, .trajectory_embedding, .embedding_model} AS state,
  coalesce($episode.id, randomUUID()) AS id,
  coalesce($episode.task, left(step.observation, 60)) AS task
CREATE (later:Memory:Episodic {
  namespace: $namespace, id: id, key: id, namespace_key: former.namespace_key, layer: 'episodic',
  status: former.status, version: 1, task: task, name: coalesce($episode.name, left(task, 60)),
  content: coalesce($episode.content, task), words: coalesce($episode.words, []), metadata: former.metadata,
  tags: former.tags, started_at: former.started_at, ended_at: former.ended_at, valid_from: former.valid_from,
  recorded_from: now
})
SET later.content_hash = $episode.content_hash, later.source = former.source, later.success = former.success,
  later.outcome = former.outcome, later.embedding_model = coalesce($embeddingModel, former.embedding_model),
  later.trajectory_embedding = CASE WHEN $episode.trajectory_embedding IS NOT NULL
    THEN toFloatList($episode.trajectory_embedding) END,
  former.embedding_model = later.embedding_model, former.content = coalesce($content, former.content),
  former.trajectory_embedding = CASE WHEN $trajectoryEmbedding IS NULL THEN former.trajectory_embedding
    ELSE toFloatList($trajectoryEmbedding) END
WITH former, later, now, state
CALL (former, later) {
  UNWIND [[former, $embedding], [later, $episode.embedding]] AS pair
  WITH pair[0] AS episode, pair[1] AS embedding WHERE embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(episode, 'embedding', toFloatList(embedding))
}
CALL (former) {
  MATCH (former)-[:HAS_STEP]->(:Step {index: $at - 1})-[next:NEXT]->(:Step)
  DELETE next
}
CALL (former, later) {
  MATCH (former)-[held:HAS_STEP]->(step:Step)
  WHERE step.index >= $at
  DELETE held
  CREATE (later)-[:HAS_STEP]->(step)
  SET step.index = step.index - $at
}
CALL (former, later) {
  MATCH (former)-[:FROM]->(source:Source)
  CREATE (later)-[:FROM]->(source)
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1, tenant.memories = coalesce(tenant.memories, 0) + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'split',
  actor: $actor, reason: $reason, at: now
})-[touched:TOUCHED]->(former)
CREATE (operation)-[:TOUCHED {part: 'second'}]->(later)
SET touched = state, touched.part = 'first', operation.before = $before, operation.after = $after
RETURN later.id AS id, COUNT { (later)-[:HAS_STEP]->() } AS steps, operation.seq AS seq
