// fluxmem.mergeEpisodes(namespace :: STRING, episodeId :: STRING, secondId :: STRING, embedding = null :: LIST<FLOAT>, trajectoryEmbedding = null :: LIST<FLOAT>, content = null :: STRING, embeddingModel = null :: STRING, steps = null :: INTEGER, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING, before = null :: STRING, after = null :: STRING) :: (id :: STRING, steps :: INTEGER, seq :: INTEGER)
//
// Append the steps of one ended episode to another one and delete it; the whole ended as the second did.
//
// Votes of the second (SUPPORTS) are added to those of the first, and undo of the feedback behind them counts back
// there; undo of this takes them apart. No row: one of them is unknown, running or deleted, both are the same, or they have not as many `steps`
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
WITH first, second, now, kept, second.status AS status, coalesce($operationId, randomUUID()) AS operationId,
  first {.success, .outcome, .ended_at, .content, .embedding, .trajectory_embedding, .embedding_model} AS state
SET second.status = 'deleted', second.recorded_to = now,
  first.success = coalesce(second.success, first.success),
  first.outcome = coalesce(second.outcome, first.outcome),
  first.ended_at = CASE WHEN second.ended_at > first.ended_at THEN second.ended_at ELSE first.ended_at END,
  first.content = coalesce($content, first.content),
  first.embedding_model = coalesce($embeddingModel, first.embedding_model),
  first.trajectory_embedding = CASE WHEN $trajectoryEmbedding IS NULL THEN first.trajectory_embedding
    ELSE toFloatList($trajectoryEmbedding) END
WITH first, second, now, kept, status, operationId, state
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
CREATE (operation:Operation {namespace: $namespace, id: operationId, kind: 'merge', actor: $actor, reason: $reason, at: now})
CREATE (operation)-[touched:TOUCHED]->(first)
SET touched = state, touched.part = 'first', touched.kept = kept, operation.before = $before, operation.after = $after
CREATE (operation)-[:TOUCHED {part: 'second', status: status}]->(second)
WITH first, second, operation
CALL (first, second, operation) {
  UNWIND ['SUPPORTS', 'ASSOCIATED'] AS type
  MATCH (fact:Memory)-[link:$(type)]->(second)
  MATCH (fact)<-[vote:TOUCHED {link: type}]-(voting:Operation)
  WHERE vote.other = second.id OR (vote.other IS NULL AND EXISTS { (voting)-[:TOUCHED]->(second) })
  SET vote.other = first.id, vote.via = coalesce(vote.via, []) + operation.id
}
CALL (first, second, operation) {
  MATCH (fact:Memory)-[link:SUPPORTS]->(second)
  CREATE (operation)-[moved:TOUCHED]->(fact)
  SET moved = properties(link), moved.moved = 'SUPPORTS', moved.made = NOT EXISTS { (fact)-[:SUPPORTS]->(first) }
  MERGE (fact)-[sum:SUPPORTS]->(first)
    ON CREATE SET sum = properties(link), sum.successes = 0.0, sum.failures = 0.0
  SET sum.successes = round(sum.successes + link.successes, 6), sum.failures = round(sum.failures + link.failures, 6)
  SET sum.weight = (1 + sum.successes) / (2 + sum.successes + sum.failures)
  DELETE link
}
CALL (first, second, operation) {
  MATCH (fact:Memory)-[link:ASSOCIATED]->(second)
  CREATE (operation)-[moved:TOUCHED]->(fact)
  SET moved = properties(link), moved.moved = 'ASSOCIATED', moved.made = NOT EXISTS { (fact)-[:ASSOCIATED]->(first) }
  MERGE (fact)-[sum:ASSOCIATED]->(first)
    ON CREATE SET sum = properties(link), sum.successes = 0.0, sum.failures = 0.0
  SET sum.successes = round(sum.successes + link.successes, 6), sum.failures = round(sum.failures + link.failures, 6)
  SET sum.weight = (1 + sum.successes) / (2 + sum.successes + sum.failures)
  DELETE link
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1, operation.seq = tenant.seq
RETURN first.id AS id, COUNT { (first)-[:HAS_STEP]->() } AS steps, operation.seq AS seq
