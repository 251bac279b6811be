// fluxmem.step(namespace :: STRING, episodeId :: STRING, observation :: STRING, action =  :: STRING, activated = [] :: LIST<MAP>, stepId = null :: STRING, metadata = null :: STRING, operationId = null :: STRING, actor = driver :: STRING, after = null :: STRING) :: (id :: STRING, index :: INTEGER, seq :: INTEGER)
//
// Record one step of a running episode, and which memories its context held.
//
// `activated` holds maps of id, rank, score, dense, sparse, verified, spread and round (failures since the last
// success, counted here if absent). No row: the episode is unknown or not running, or one of those ids is.
//
// mode: WRITE
CYPHER 25
MATCH (episode:Memory:Episodic {namespace: $namespace, id: $episodeId})
SET episode.namespace = episode.namespace // takes the lock before the steps are counted
WITH episode, datetime() AS now
WHERE episode.ended_at IS NULL AND episode.status <> 'deleted'
  AND all(item IN $activated WHERE EXISTS { (:Memory {namespace: $namespace, id: item.id}) })
WITH episode, now, COLLECT { MATCH (episode)-[:HAS_STEP]->(step:Step) RETURN step.success ORDER BY step.index } AS outcomes
WITH episode, now, size(outcomes) AS index,
  reduce(round = 0, success IN outcomes | CASE WHEN success IS NULL THEN round WHEN success >= 0.5 THEN 0 ELSE round + 1 END) AS round
OPTIONAL MATCH (episode)-[:HAS_STEP]->(earlier:Step {index: index - 1})
CREATE (episode)-[:HAS_STEP]->(step:Step {
  namespace: $namespace, id: coalesce($stepId, randomUUID()), index: index, observation: $observation,
  action: $action
})
SET step.metadata = $metadata
CALL (step, earlier) {
  WITH * WHERE earlier IS NOT NULL
  CREATE (earlier)-[:NEXT]->(step)
}
CALL (step, round) {
  UNWIND $activated AS item
  MATCH (memory:Memory {namespace: $namespace, id: item.id})
  CREATE (step)-[activated:ACTIVATED]->(memory)
  SET activated = item {.rank, .score, .dense, .sparse, .verified, .spread, round: coalesce(item.round, round),
    pruned: false}
}
WITH episode, step, index, now
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'step',
  actor: $actor, reason: '', at: now
})-[:TOUCHED]->(episode)
CREATE (operation)-[:TOUCHED]->(step)
SET operation.after = $after
RETURN step.id AS id, index, operation.seq AS seq
