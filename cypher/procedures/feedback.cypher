// fluxmem.feedback(namespace :: STRING, episodeId :: STRING, success :: FLOAT, text =  :: STRING, used = [] :: LIST<STRING>, unused = [] :: LIST<STRING>, credited = [] :: LIST<MAP>, operationId = null :: STRING, actor = driver :: STRING, after = null :: STRING, runId = null :: STRING, paired = 5 :: INTEGER) :: (id :: STRING, supported :: INTEGER, associated :: INTEGER, promoted :: INTEGER, seq :: INTEGER)
//
// Say how the last step of a running episode went (0..1), and which memories it used.
//
// Facts that were used gain SUPPORTS to the episode, with the success counted there; those that were not used count
// a failure; `credited` are maps of id and gain (0..1) for callers that know less surely. All pairs of the
// first `paired` used facts gain ASSOCIATED. A local rewriting that was used with success is promoted. Counts keep six
// decimals, so that undo gives back the exact numbers. No row: the episode is unknown, not running or without a
// step, its last step has its feedback, or one of the ids is unknown.
//
// mode: WRITE
CYPHER 25
MATCH (episode:Memory:Episodic {namespace: $namespace, id: $episodeId})
SET episode.namespace = episode.namespace // takes the lock before the state is read
WITH episode, datetime() AS now
WHERE episode.ended_at IS NULL AND episode.status <> 'deleted' AND 0 <= $success <= 1 AND all(item IN $credited WHERE 0 <= item.gain <= 1)
  AND all(id IN $used + $unused + [item IN $credited | item.id]
    WHERE EXISTS { (:Memory {namespace: $namespace, id: id}) })
MATCH (episode)-[:HAS_STEP]->(step:Step)
WITH episode, now, step ORDER BY step.index DESC LIMIT 1
WITH episode, now, step WHERE step.success IS NULL
SET step.feedback = $text, step.success = $success
WITH episode, now, step
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), kind: 'feedback',
  actor: $actor, reason: $text, at: now
})-[:TOUCHED]->(episode)
CREATE (operation)-[:TOUCHED]->(step)
SET operation.after = $after, operation.run_id = $runId
WITH episode, now, operation
CALL (episode, now, operation) {
  UNWIND [id IN $used | {id: id, gain: round($success, 6), loss: round(1 - $success, 6)}]
    + [id IN $unused | {id: id, gain: 0.0, loss: 1.0}]
    + [item IN $credited | {id: item.id, gain: round(item.gain, 6), loss: 0.0}] AS vote
  MATCH (memory:Memory {namespace: $namespace, id: vote.id})
  WHERE memory.layer = 'semantic'
  WITH episode, now, operation, memory, vote ORDER BY memory.id
  MERGE (memory)-[link:SUPPORTS]->(episode)
    ON CREATE SET link.successes = 0.0, link.failures = 0.0, link.origin = 'feedback'
  SET link.successes = round(link.successes + vote.gain, 6), link.failures = round(link.failures + vote.loss, 6)
  SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures), link.updated_at = now
  CREATE (operation)-[:TOUCHED {link: 'SUPPORTS', gain: vote.gain, loss: vote.loss}]->(memory)
  RETURN count(memory) AS supported
}
CALL (now, operation) {
  UNWIND range(0, size($used) - 2) AS first
  UNWIND range(first + 1, size($used) - 1) AS second
  WITH now, operation, first, second WHERE second < $paired
  WITH now, operation, CASE WHEN $used[first] < $used[second] THEN [$used[first], $used[second]]
    ELSE [$used[second], $used[first]] END AS pair
  WHERE pair[0] <> pair[1]
  MATCH (memory:Memory {namespace: $namespace, id: pair[0]}), (other:Memory {namespace: $namespace, id: pair[1]})
  WHERE memory.layer = 'semantic' AND other.layer = 'semantic'
  WITH DISTINCT now, operation, memory, other, round($success, 6) AS gain, round(1 - $success, 6) AS loss
  ORDER BY memory.id, other.id
  MERGE (memory)-[link:ASSOCIATED]->(other)
    ON CREATE SET link.successes = 0.0, link.failures = 0.0, link.origin = 'feedback', link.tentative = false
  SET link.successes = round(link.successes + gain, 6), link.failures = round(link.failures + loss, 6)
  SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures), link.updated_at = now
  CREATE (operation)-[:TOUCHED {link: 'ASSOCIATED', other: other.id, gain: gain, loss: loss}]->(memory)
  RETURN count(link) AS associated
}
CALL (operation) {
  WITH * WHERE $success >= 0.5
  UNWIND $used + [item IN $credited | item.id] AS id
  MATCH (memory:Memory {namespace: $namespace, id: id})
  WHERE memory.status = 'local'
  SET memory.status = 'active'
  CREATE (operation)-[:TOUCHED {promoted: true}]->(memory)
  RETURN count(memory) AS promoted
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1, operation.seq = tenant.seq
RETURN episode.id AS id, supported, associated, promoted, operation.seq AS seq
