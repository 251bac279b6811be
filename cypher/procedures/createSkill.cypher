// fluxmem.createSkill(namespace :: STRING, skill :: MAP, sources :: LIST<STRING>, approve = false :: BOOLEAN, owner = null :: STRING, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING, runId = null :: STRING) :: (id :: STRING, skill_id :: STRING, version :: INTEGER, seq :: INTEGER)
//
// Store a version of a skill with the episodes that it was distilled from.
//
// A skill is a map: content and steps (required), id, skill_id, version (the next one if not given), name, when_to_use,
// pitfalls, slots (JSON text), content_hash, embedding, embedding_model, pems, pems_success, pems_length, pems_drift, settled,
// evidence, made_by, after. Without `approve` it waits for review as a candidate, in place of an earlier candidate.
// `owner` is who holds the namespace's lease: when it is another one, or a source is not there, nothing happens.
// No row too: a first version would be one memory more than the namespace's quota.
//
// mode: WRITE
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
SET tenant.namespace = $namespace // one change of skills at a time: states are read before they are set
WITH tenant
CALL () {
  UNWIND $sources AS source
  MATCH (episode:Memory {namespace: $namespace, id: source})
  WHERE episode.layer = 'episodic'
  RETURN collect(episode) AS episodes
}
WITH tenant, episodes
WHERE ($owner IS NULL OR tenant.lease_owner = $owner) AND $skill.content IS NOT NULL AND size($skill.steps) > 0
  // A run that was erased meanwhile must not live on in a skill.
  AND size(episodes) = size($sources)
WITH tenant, episodes, datetime() AS now, coalesce($skill.id, randomUUID()) AS id,
  coalesce($skill.skill_id, $skill.id, randomUUID()) AS skillId
CALL (skillId) {
  OPTIONAL MATCH (earlier:Procedural {namespace: $namespace, skill_id: skillId})
  WITH earlier ORDER BY earlier.version DESC
  RETURN collect(earlier) AS earlier
}
WITH tenant, episodes, now, id, skillId, earlier
WHERE tenant.quota IS NULL OR size(earlier) > 0 OR coalesce(tenant.memories, 0) < tenant.quota
WITH episodes, tenant.key AS tenantKey, now, id, skillId, earlier, coalesce($skill.version, head(earlier).version + 1, 1) AS version
CREATE (skill:Memory:Procedural {
  namespace: $namespace, namespace_key: tenantKey, id: id, key: 'skill ' + skillId + ' ' + version, layer: 'procedural',
  skill_id: skillId, version: version, status: CASE WHEN $approve THEN 'active' ELSE 'candidate' END,
  review: CASE WHEN $approve THEN 'approved' ELSE 'candidate' END, content: $skill.content, steps: $skill.steps,
  name: coalesce($skill.name, left($skill.content, 60)), recorded_from: now, valid_from: now, metadata: '{}', tags: []
})
WITH skill, episodes, earlier, now, $skill AS given
SET skill += given {.when_to_use, .slots, .content_hash, .embedding_model, .pems, .pems_success, .pems_length,
    .pems_drift, .evidence, .made_by},
  skill.text = skill.name + '\n' + skill.content, skill.pitfalls = coalesce(given.pitfalls, []),
  skill.settled = coalesce(given.settled, false), skill.run_id = $runId
WITH skill, episodes, earlier, now
CALL (skill) {
  WITH * WHERE $skill.embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(skill, 'embedding', toFloatList($skill.embedding))
}
CALL (skill, earlier) {
  WITH skill, head(earlier) AS former WHERE former IS NOT NULL
  CREATE (skill)-[:SUPERSEDES]->(former)
}
CALL (skill, episodes) {
  UNWIND episodes AS episode
  CREATE (episode)-[:DISTILLED_INTO {run_id: $runId}]->(skill)
}
CALL (earlier) {
  UNWIND earlier AS other
  WITH other WHERE other.status = 'candidate' OR $approve AND other.status = 'active'
  RETURN collect({memory: other, status: other.status, review: other.review}) AS replaced
}
CALL (replaced, now) {
  UNWIND replaced AS entry
  WITH now, entry.memory AS other
  // A candidate was never in use.
  SET other.gaps = CASE other.status WHEN 'candidate' THEN coalesce(other.gaps, []) + [other.recorded_from, now] ELSE other.gaps END
  SET other.status = 'superseded', other.recorded_to = now
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1, tenant.memories = coalesce(tenant.memories, 0)
  + CASE WHEN EXISTS { (skill)-[:SUPERSEDES]->() } THEN 0 ELSE 1 END
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'skill',
  actor: $actor, reason: $reason, at: now, after: coalesce($skill.after, '{}')
})-[:TOUCHED {created: true}]->(skill)
SET operation.run_id = $runId
WITH skill, operation, replaced
CALL (operation, replaced) {
  UNWIND replaced AS entry
  WITH operation, entry, entry.memory AS other
  CREATE (operation)-[:TOUCHED {status: entry.status, review: entry.review}]->(other)
}
RETURN skill.id AS id, skill.skill_id AS skill_id, skill.version AS version, operation.seq AS seq
