// fluxmem.reviewSkill(namespace :: STRING, id :: STRING, verdict :: STRING, owner = null :: STRING, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING, runId = null :: STRING) :: (id :: STRING, skill_id :: STRING, version :: INTEGER, status :: STRING, seq :: INTEGER)
//
// Review a skill: `approve` or `rollback` make this version the one that agents get, `retire` takes all of them away.
//
// Earlier candidates give way to an approved version; later ones go on waiting. Nothing is deleted. A candidate that gave
// way waits for no review any more: no row for `approve`, only `rollback` brings it.
//
// mode: WRITE
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
SET tenant.namespace = $namespace // one change of skills at a time: states are read before they are set
WITH tenant
WHERE $owner IS NULL OR tenant.lease_owner = $owner
MATCH (skill:Memory {namespace: $namespace, id: $id})
WHERE skill.layer = 'procedural' AND $verdict IN ['approve', 'rollback', 'retire']
WITH skill, datetime() AS now
CALL (skill) {
  MATCH (version:Procedural {namespace: $namespace, skill_id: skill.skill_id})
  SET version.namespace = version.namespace // takes the lock before the state is read
  WITH skill, version, version.status IN ['active', 'candidate'] AS live
  WHERE CASE
    WHEN $verdict = 'retire' THEN live
    WHEN version = skill THEN version.status = 'candidate'
      OR version.status = 'superseded' AND ($verdict = 'rollback' OR version.review <> 'candidate')
    ELSE version.status = 'active' OR version.status = 'candidate' AND version.version < skill.version END
  RETURN collect({memory: version, status: version.status, review: version.review}) AS changed
}
WITH skill, now, changed
WHERE CASE WHEN $verdict = 'retire' THEN size(changed) > 0 ELSE any(entry IN changed WHERE entry.memory = skill) END
CALL (skill, now, changed) {
  UNWIND changed AS entry
  WITH skill, now, entry.memory AS version
  WITH now, version, $verdict <> 'retire' AND version = skill AS chosen
  // Memory is read as of a time: until now it was not in use.
  SET version.gaps = CASE WHEN chosen OR version.status = 'candidate'
    THEN coalesce(version.gaps, []) + [coalesce(version.recorded_to, version.recorded_from), now] ELSE version.gaps END
  SET version.status = CASE WHEN chosen THEN 'active' ELSE 'superseded' END,
    version.review = CASE WHEN chosen THEN 'approved' WHEN $verdict = 'retire' THEN 'retired' ELSE version.review END,
    version.recorded_to = CASE WHEN chosen THEN null ELSE now END
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.seq = tenant.seq + 1
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: $verdict, actor: $actor,
  reason: $reason, at: now, after: '{"verdict":"' + $verdict + '","id":"' + skill.id + '"}'
})
SET operation.run_id = $runId
WITH skill, operation, changed
CALL (operation, changed) {
  UNWIND changed AS entry
  WITH operation, entry, entry.memory AS version
  CREATE (operation)-[:TOUCHED {status: entry.status, review: entry.review}]->(version)
}
RETURN skill.id AS id, skill.skill_id AS skill_id, skill.version AS version, skill.status AS status, operation.seq AS seq
