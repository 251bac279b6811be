// fluxmem.feedback(namespace :: STRING, episodeId :: STRING, success :: FLOAT, text =  :: STRING, used = [] :: LIST<STRING>, unused = [] :: LIST<STRING>, operationId = null :: STRING, actor = driver :: STRING, after = null :: STRING) :: (id :: STRING, supported :: INTEGER, seq :: INTEGER)
//
// Say how the last step of a running episode went, and which memories it used.
//
// Facts that were used gain SUPPORTS to the episode, with the success (0..1) counted there; those that were
// activated and not used count a failure. No row: the episode is unknown, not running or without a step, or
// one of the ids is unknown.
//
// mode: WRITE
CYPHER 25
MATCH (episode:Memory:Episodic {namespace: $namespace, id: $episodeId})
SET episode.namespace = episode.namespace // takes the lock before the state is read
WITH episode, datetime() AS now
WHERE episode.ended_at IS NULL AND episode.status <> 'deleted'
  AND all(id IN $used + $unused WHERE EXISTS { (:Memory {namespace: $namespace, id: id}) })
MATCH (episode)-[:HAS_STEP]->(step:Step)
WITH episode, now, step ORDER BY step.index DESC LIMIT 1
SET step.feedback = $text, step.success = $success
WITH episode, now, step
CALL (episode, now) {
  UNWIND [id IN $used | {id: id, gain: $success, loss: 1 - $success}]
    + [id IN $unused | {id: id, gain: 0.0, loss: 1.0}] AS vote
  MATCH (memory:Memory {namespace: $namespace, id: vote.id})
  WHERE memory.layer = 'semantic'
  WITH episode, now, memory, vote ORDER BY memory.id
  MERGE (memory)-[link:SUPPORTS]->(episode)
    ON CREATE SET link.successes = 0.0, link.failures = 0.0
  SET link.successes = link.successes + vote.gain, link.failures = link.failures + vote.loss
  SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures), link.updated_at = now
  RETURN count(memory) AS supported
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'feedback',
  actor: $actor, reason: $text, at: now
})-[:TOUCHED]->(episode)
CREATE (operation)-[:TOUCHED]->(step)
SET operation.after = $after
RETURN episode.id AS id, supported, operation.seq AS seq
