// fluxmem.skills(namespace :: STRING, skillId = null :: STRING) :: (id :: STRING, skill_id :: STRING, version :: INTEGER, status :: STRING, review :: STRING, name :: STRING, when_to_use :: STRING, steps :: LIST<STRING>, pitfalls :: LIST<STRING>, slots :: STRING, content :: STRING, pems :: FLOAT, pems_success :: FLOAT, pems_length :: INTEGER, pems_drift :: FLOAT, settled :: BOOLEAN, evidence :: STRING, made_by :: STRING, run_id :: STRING, recorded_from :: ZONED DATETIME, recorded_to :: ZONED DATETIME, sources :: LIST<STRING>)
//
// Skills with the episodes that they were distilled from: all versions of one, newest first, or the latest of each.
//
// Of a skill whose newest version still waits for review, the list has that one.
//
// mode: READ
CYPHER 25
CALL () {
  WITH * WHERE $skillId IS NOT NULL
  MATCH (skill:Procedural {namespace: $namespace, skill_id: $skillId})
  WHERE skill.status <> 'deleted'
  RETURN skill
  UNION ALL
  WITH * WHERE $skillId IS NULL
  MATCH (version:Procedural)
  WHERE version.namespace = $namespace AND version.skill_id IS NOT NULL AND version.status <> 'deleted'
  WITH version ORDER BY version.status IN ['active', 'candidate'] DESC, version.version DESC
  WITH version.skill_id AS skillId, collect(version) AS versions
  RETURN head(versions) AS skill
}
RETURN skill.id AS id, skill.skill_id AS skill_id, skill.version AS version, skill.status AS status,
  skill.review AS review, skill.name AS name, skill.when_to_use AS when_to_use, skill.steps AS steps,
  skill.pitfalls AS pitfalls, skill.slots AS slots, skill.content AS content, skill.pems AS pems,
  skill.pems_success AS pems_success, skill.pems_length AS pems_length, skill.pems_drift AS pems_drift,
  skill.settled AS settled, skill.evidence AS evidence, skill.made_by AS made_by, skill.run_id AS run_id,
  skill.recorded_from AS recorded_from, skill.recorded_to AS recorded_to,
  COLLECT { MATCH (episode:Memory)-[:DISTILLED_INTO]->(skill) RETURN episode.id ORDER BY episode.id } AS sources
ORDER BY coalesce(skill.pems, 0.0) DESC, skill_id, version DESC
