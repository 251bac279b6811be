// fluxmem.expand(namespace :: STRING, episodeId :: STRING, found :: LIST<MAP>, missing =  :: STRING, operationId = null :: STRING, actor = driver :: STRING, after = null :: STRING, runId = null :: STRING) :: (id :: STRING, supporting :: INTEGER, associated :: INTEGER, seq :: INTEGER)
//
// Make the links that a failed step of a running episode lacked.
//
// `found` holds maps of id, gain (0..1) and supports. Facts that support this very task gain SUPPORTS; the others
// are about what was missing, and gain a tentative ASSOCIATED to the episode. Search for them with the feedback,
// not with the old query. No row: the episode is unknown or not running, or one of the ids is unknown.
//
// mode: WRITE
CYPHER 25
MATCH (episode:Memory:Episodic {namespace: $namespace, id: $episodeId})
SET episode.namespace = episode.namespace // takes the lock before the state is read
WITH episode, datetime() AS now
WHERE episode.ended_at IS NULL AND episode.status <> 'deleted' AND all(item IN $found WHERE 0 <= item.gain <= 1)
  AND all(item IN $found WHERE EXISTS { (:Memory {namespace: $namespace, id: item.id}) })
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), kind: 'expand',
  actor: $actor, reason: $missing, at: now
})-[:TOUCHED]->(episode)
SET operation.after = $after, operation.run_id = $runId
WITH episode, now, operation
CALL (episode, now, operation) {
  UNWIND $found AS item
  WITH episode, now, operation, item WHERE item.supports
  MATCH (memory:Memory {namespace: $namespace, id: item.id})
  WHERE memory.layer = 'semantic'
  WITH episode, now, operation, memory, round(item.gain, 6) AS gain ORDER BY memory.id
  MERGE (memory)-[link:SUPPORTS]->(episode)
    ON CREATE SET link.successes = 0.0, link.failures = 0.0, link.origin = 'feedback'
  SET link.successes = round(link.successes + gain, 6)
  SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures), link.updated_at = now
  CREATE (operation)-[:TOUCHED {link: 'SUPPORTS', gain: gain, loss: 0.0}]->(memory)
  RETURN count(memory) AS supporting
}
CALL (episode, now, operation) {
  UNWIND $found AS item
  WITH episode, now, operation, item WHERE NOT coalesce(item.supports, false)
  MATCH (memory:Memory {namespace: $namespace, id: item.id})
  WHERE memory <> episode
  WITH episode, now, operation, memory, round(item.gain, 6) AS gain ORDER BY memory.id
  MERGE (memory)-[link:ASSOCIATED]->(episode)
    ON CREATE SET link.successes = 0.0, link.failures = 0.0, link.origin = 'feedback', link.tentative = true
  SET link.successes = round(link.successes + gain, 6)
  SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures), link.updated_at = now
  CREATE (operation)-[:TOUCHED {link: 'ASSOCIATED', other: episode.id, gain: gain, loss: 0.0}]->(memory)
  RETURN count(memory) AS associated
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1, operation.seq = tenant.seq
RETURN episode.id AS id, supporting, associated, operation.seq AS seq
