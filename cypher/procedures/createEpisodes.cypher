// fluxmem.createEpisodes(namespace :: STRING, episodes :: LIST<MAP>, actor = driver :: STRING, reason =  :: STRING, runId = null :: STRING) :: (id :: STRING, key :: STRING, created :: BOOLEAN, seq :: INTEGER)
//
// Store runs of tasks with their steps, finished or still running, and log each one.
//
// An episode is a map: task (required), id, key, external_id, name, content, content_hash, embedding,
// embedding_model, trajectory_embedding, words (of the task, that carry meaning), source, success, outcome, started_at, ended_at, metadata (JSON
// text), tags, operation_id, after, steps (maps of id, observation, action, feedback, metadata). Defaults:
// id is a random UUID, key is the id. Without ended_at it is running: a candidate, found once it has ended.
// No row: they would be more than the namespace's quota.
//
// mode: WRITE
CYPHER 25
MERGE (tenant:Namespace {name: $namespace})
  ON CREATE SET tenant.namespace = $namespace, tenant.id = randomUUID(), tenant.seq = 0,
    tenant.key = 'ns' + replace(randomUUID(), '-', ''), tenant.created_at = datetime()
// With a quota the tenant is locked first, so that what fits is counted exactly.
CALL (tenant) {
  WITH * WHERE tenant.quota IS NOT NULL
  SET tenant.namespace = $namespace
}
WITH tenant, datetime() AS now
WHERE tenant.quota IS NULL OR coalesce(tenant.memories, 0) + COUNT {
  UNWIND range(0, size($episodes) - 1) AS position
  WITH DISTINCT coalesce($episodes[position].key, $episodes[position].id, toString(position)) AS key
  WHERE NOT EXISTS { (:Memory {namespace: $namespace, key: key}) }
  RETURN key
} <= tenant.quota
UNWIND range(0, size($episodes) - 1) AS position
WITH tenant, now, position, $episodes[position] AS row
WITH tenant, now, position, row, coalesce(row.id, randomUUID()) AS id
WITH tenant, now, position, row, id, coalesce(row.key, id) AS key
ORDER BY key
MERGE (episode:Memory {namespace: $namespace, key: key})
  ON CREATE SET episode:Episodic, episode.id = id, episode.layer = 'episodic', episode.version = 0,
    episode.status = CASE WHEN row.ended_at IS NULL THEN 'candidate' ELSE 'active' END,
    episode.namespace_key = tenant.key, episode.external_id = row.external_id, episode.task = row.task,
    episode.name = coalesce(row.name, left(row.task, 60)), episode.content = coalesce(row.content, row.task),
    episode.content_hash = row.content_hash, episode.words = coalesce(row.words, []), episode.embedding_model = row.embedding_model,
    episode.source = row.source, episode.success = row.success, episode.outcome = row.outcome,
    episode.started_at = coalesce(row.started_at, now), episode.ended_at = row.ended_at,
    episode.valid_from = coalesce(row.started_at, now), episode.recorded_from = now,
    episode.metadata = coalesce(row.metadata, '{}'), episode.tags = coalesce(row.tags, []),
    episode.trajectory_embedding = CASE WHEN row.trajectory_embedding IS NOT NULL
      THEN toFloatList(row.trajectory_embedding) END
WITH tenant, now, episode, min(position) AS position, collect(row)[0] AS row
WITH tenant, now, episode, position, row, episode.version = 0 AS fresh
SET episode.version = CASE WHEN fresh THEN 1 ELSE episode.version END
CALL (episode, row, fresh) {
  WITH * WHERE fresh AND row.embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(episode, 'embedding', toFloatList(row.embedding))
}
CALL (episode, row, fresh) {
  WITH * WHERE fresh AND row.source IS NOT NULL
  MERGE (source:Source {namespace: $namespace, uri: row.source})
    ON CREATE SET source.id = randomUUID()
  MERGE (episode)-[:FROM]->(source)
}
CALL (episode, row, fresh) {
  WITH * WHERE fresh
  UNWIND range(0, size(coalesce(row.steps, [])) - 1) AS index
  WITH episode, index, row.steps[index] AS item
  CREATE (episode)-[:HAS_STEP]->(step:Step {
    namespace: $namespace, id: coalesce(item.id, randomUUID()), index: index,
    observation: item.observation, action: coalesce(item.action, '')
  })
  SET step.feedback = item.feedback, step.metadata = item.metadata
  WITH step ORDER BY index
  WITH collect(step) AS steps
  UNWIND range(1, size(steps) - 1) AS index
  WITH steps[index - 1] AS earlier, steps[index] AS later
  CREATE (earlier)-[:NEXT]->(later)
}
WITH tenant, now, episode, position, row, fresh
ORDER BY position
WITH tenant, now, collect({episode: episode, row: row, fresh: fresh}) AS stored
WITH tenant, now, stored, [entry IN stored WHERE entry.fresh] AS changed
SET tenant.seq = tenant.seq + size(changed), tenant.memories = coalesce(tenant.memories, 0) + size(changed)
WITH now, stored, changed, tenant.seq - size(changed) AS base
CALL (now, changed, base) {
  UNWIND range(0, size(changed) - 1) AS index
  WITH now, base + index + 1 AS seq, changed[index].episode AS episode, changed[index].row AS row
  CREATE (operation:Operation {
    namespace: $namespace, id: coalesce(row.operation_id, randomUUID()), seq: seq, kind: 'episode',
    actor: $actor, reason: $reason, at: now, after: row.after
  })-[:TOUCHED]->(episode)
  SET operation.run_id = $runId
  RETURN collect([episode.id, seq]) AS numbered
}
UNWIND stored AS entry
RETURN entry.episode.id AS id, entry.episode.key AS key, entry.fresh AS created,
  head([pair IN numbered WHERE pair[0] = entry.episode.id | pair[1]]) AS seq
