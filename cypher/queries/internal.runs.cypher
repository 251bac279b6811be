// fluxmem.internal.runs(namespace :: STRING, ids :: LIST<STRING>) :: (id :: STRING, task :: STRING, external_id :: STRING, source :: STRING, success :: FLOAT, outcome :: STRING, metadata :: STRING, steps :: LIST<MAP>)
//
// Episodes with their steps, without what was activated in them, by id.
//
// mode: READ
CYPHER 25
UNWIND $ids AS id
MATCH (episode:Memory {namespace: $namespace, id: id})
WHERE episode.layer = 'episodic'
RETURN episode.id AS id, episode.task AS task, episode.external_id AS external_id, episode.source AS source,
  episode.success AS success, episode.outcome AS outcome, episode.metadata AS metadata,
  COLLECT {
    MATCH (episode)-[:HAS_STEP]->(step:Step)
    WITH step ORDER BY step.index
    RETURN step {.observation, .action, .feedback}
  } AS steps
ORDER BY id
