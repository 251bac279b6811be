// fluxmem.endEpisode(namespace :: STRING, episodeId :: STRING, success = null :: FLOAT, outcome = null :: STRING, content = null :: STRING, embedding = null :: LIST<FLOAT>, trajectoryEmbedding = null :: LIST<FLOAT>, embeddingModel = null :: STRING, operationId = null :: STRING, actor = driver :: STRING, after = null :: STRING) :: (id :: STRING, steps :: INTEGER, seq :: INTEGER)
//
// Close a running episode with its outcome; from now on similar observations are reminded of it.
//
// `content` is what a context tells of it; without one, the task.
//
// mode: WRITE
CYPHER 25
MATCH (episode:Memory:Episodic {namespace: $namespace, id: $episodeId})
SET episode.namespace = episode.namespace // takes the lock before the state is read
WITH episode, datetime() AS now
WHERE episode.ended_at IS NULL AND episode.status <> 'deleted'
WITH episode, now, episode {.content, .embedding, .trajectory_embedding, .embedding_model} AS former
SET episode.ended_at = now, episode.status = 'active', episode.success = $success, episode.outcome = $outcome,
  episode.content = coalesce($content, episode.content),
  episode.embedding_model = coalesce($embeddingModel, episode.embedding_model),
  episode.trajectory_embedding = CASE WHEN $trajectoryEmbedding IS NULL THEN episode.trajectory_embedding
    ELSE toFloatList($trajectoryEmbedding) END
WITH episode, now, former
CALL (episode) {
  WITH * WHERE $embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(episode, 'embedding', toFloatList($embedding))
}
WITH episode, now, former
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'end',
  actor: $actor, reason: '', at: now, before: '{"status":"candidate"}'
})-[touched:TOUCHED]->(episode)
SET touched = former, operation.after = $after
RETURN episode.id AS id, COUNT { (episode)-[:HAS_STEP]->() } AS steps, operation.seq AS seq
