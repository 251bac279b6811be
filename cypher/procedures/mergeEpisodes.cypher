// fluxmem.mergeEpisodes(namespace :: STRING, episodeId :: STRING, secondId :: STRING, embedding = null :: LIST<FLOAT>, trajectoryEmbedding = null :: LIST<FLOAT>, embeddingModel = null :: STRING, steps = null :: INTEGER, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING, before = null :: STRING, after = null :: STRING) :: (id :: STRING, steps :: INTEGER, seq :: INTEGER)
//
// Append the steps of one ended episode to another one and delete it; the whole ended as the second did.
//
// Votes of the second (SUPPORTS) are added to those of the first, and undo of the feedback behind them counts back
// there. No row: one of them is unknown, running or deleted, both are the same, or they have not as many `steps`
// together as the caller knows of. `fluxmem.splitEpisode` is the inverse.
//
// mode: WRITE
CYPHER 25
UNWIND CASE WHEN $episodeId < $secondId THEN [$episodeId, $secondId] ELSE [$secondId, $episodeId] END AS id
MATCH (episode:Memory:Episodic {namespace: $namespace, id: id})
SET episode.namespace = episode.namespace // takes both locks, in one order, before the states are read
WITH count(DISTINCT episode) AS locked, datetime() AS now
WHERE locked = 2
MATCH (first:Memory:Episodic {namespace: $namespace, id: $episodeId})
MATCH (second:Memory:Episodic {namespace: $namespace, id: $secondId})
WITH first, second, now, COUNT { (first)-[:HAS_STEP]->() } AS kept, COUNT { (second)-[:HAS_STEP]->() } AS moved
WHERE first.ended_at IS NOT NULL AND first.status <> 'deleted'
  AND second.ended_at IS NOT NULL AND second.status <> 'deleted' AND coalesce($steps, kept + moved) = kept + moved
SET second.status = 'deleted', second.recorded_to = now,
  first.success = coalesce(second.success, first.success),
  first.outcome = coalesce(second.outcome, first.outcome),
  first.ended_at = CASE WHEN second.ended_at > first.ended_at THEN second.ended_at ELSE first.ended_at END,
  first.embedding_model = coalesce($embeddingModel, first.embedding_model),
  first.trajectory_embedding = CASE WHEN $trajectoryEmbedding IS NULL THEN first.trajectory_embedding
    ELSE toFloatList($trajectoryEmbedding) END
WITH first, second, now, kept
CALL (first) {
  WITH * WHERE $embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(first, 'embedding', toFloatList($embedding))
}
CALL (first, second, kept) {
  MATCH (first)-[:HAS_STEP]->(earlier:Step {index: kept - 1})
  MATCH (second)-[:HAS_STEP]->(later:Step {index: 0})
  CREATE (earlier)-[:NEXT]->(later)
}
CALL (first, second, kept) {
  MATCH (second)-[held:HAS_STEP]->(step:Step)
  DELETE held
  CREATE (first)-[:HAS_STEP]->(step)
  SET step.index = step.index + kept
}
CALL (first, second) {
  MATCH (fact:Memory)-[:SUPPORTS]->(second)
  MATCH (fact)<-[vote:TOUCHED {link: 'SUPPORTS'}]-(operation:Operation)
  WHERE vote.other = second.id OR (vote.other IS NULL AND EXISTS { (operation)-[:TOUCHED]->(second) })
  SET vote.other = first.id
}
CALL (first, second) {
  MATCH (fact:Memory)-[link:SUPPORTS]->(second)
  MERGE (fact)-[sum:SUPPORTS]->(first)
    ON CREATE SET sum = properties(link), sum.successes = 0.0, sum.failures = 0.0
  SET sum.successes = round(sum.successes + link.successes, 6), sum.failures = round(sum.failures + link.failures, 6)
  SET sum.weight = (1 + sum.successes) / (2 + sum.successes + sum.failures)
  DELETE link
}
CALL (first, second) {
  MATCH (fact:Memory)-[:ASSOCIATED]->(second)
  MATCH (fact)<-[vote:TOUCHED {link: 'ASSOCIATED', other: second.id}]-(:Operation)
  SET vote.other = first.id
}
CALL (first, second) {
  MATCH (fact:Memory)-[link:ASSOCIATED]->(second)
  MERGE (fact)-[sum:ASSOCIATED]->(first)
    ON CREATE SET sum = properties(link), sum.successes = 0.0, sum.failures = 0.0
  SET sum.successes = round(sum.successes + link.successes, 6), sum.failures = round(sum.failures + link.failures, 6)
  SET sum.weight = (1 + sum.successes) / (2 + sum.successes + sum.failures)
  DELETE link
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'merge',
  actor: $actor, reason: $reason, at: now
})-[:TOUCHED]->(first)
CREATE (operation)-[:TOUCHED]->(second)
SET operation.before = $before, operation.after = $after
RETURN first.id AS id, COUNT { (first)-[:HAS_STEP]->() } AS steps, operation.seq AS seq
