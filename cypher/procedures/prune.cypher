// fluxmem.prune(namespace :: STRING, episodeId :: STRING, ids :: LIST<STRING>, doubt = 1.0 :: FLOAT, operationId = null :: STRING, actor = driver :: STRING, after = null :: STRING, runId = null :: STRING) :: (id :: STRING, pruned :: INTEGER, seq :: INTEGER)
//
// Weaken facts that were noise in the last step of a running episode, and hide them from its next activation.
//
// `doubt` (0..1) is counted as failures in SUPPORTS to the episode; nothing is deleted. No row: the episode is
// unknown, not running or without a step, or one of the ids is unknown.
//
// mode: WRITE
CYPHER 25
MATCH (episode:Memory:Episodic {namespace: $namespace, id: $episodeId})
SET episode.namespace = episode.namespace // takes the lock before the state is read
WITH episode, datetime() AS now
WHERE episode.ended_at IS NULL AND episode.status <> 'deleted' AND 0 <= $doubt <= 1
  AND all(id IN $ids WHERE EXISTS { (:Memory {namespace: $namespace, id: id}) })
MATCH (episode)-[:HAS_STEP]->(step:Step)
WITH episode, now, step ORDER BY step.index DESC LIMIT 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), kind: 'prune',
  actor: $actor, reason: '', at: now
})-[:TOUCHED]->(episode)
CREATE (operation)-[:TOUCHED]->(step)
SET operation.after = $after, operation.run_id = $runId
WITH episode, now, step, operation
CALL (episode, now, step, operation) {
  UNWIND $ids AS id
  MATCH (memory:Memory {namespace: $namespace, id: id})
  WHERE memory.layer = 'semantic'
  WITH DISTINCT episode, now, step, operation, memory, round($doubt, 6) AS loss ORDER BY memory.id
  OPTIONAL MATCH (step)-[activated:ACTIVATED {pruned: false}]->(memory)
  SET activated.pruned = true
  MERGE (memory)-[link:SUPPORTS]->(episode)
    ON CREATE SET link.successes = 0.0, link.failures = 0.0, link.origin = 'feedback'
  SET link.failures = round(link.failures + loss, 6)
  SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures), link.updated_at = now
  CREATE (operation)-[:TOUCHED {link: 'SUPPORTS', gain: 0.0, loss: loss, hidden: activated IS NOT NULL}]->(memory)
  RETURN count(memory) AS pruned
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1, operation.seq = tenant.seq
RETURN episode.id AS id, pruned, operation.seq AS seq
