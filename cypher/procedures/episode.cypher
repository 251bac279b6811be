// fluxmem.episode(namespace :: STRING, id :: STRING) :: (id :: STRING, task :: STRING, status :: STRING, external_id :: STRING, source :: STRING, success :: FLOAT, outcome :: STRING, started_at :: ZONED DATETIME, ended_at :: ZONED DATETIME, metadata :: STRING, steps :: LIST<MAP>)
//
// One run of a task with its steps in order.
//
// mode: READ
CYPHER 25
MATCH (episode:Memory {namespace: $namespace, id: $id})
WHERE episode.layer = 'episodic'
RETURN episode.id AS id, episode.task AS task, episode.status AS status, episode.external_id AS external_id,
  episode.source AS source, episode.success AS success, episode.outcome AS outcome,
  episode.started_at AS started_at, episode.ended_at AS ended_at, episode.metadata AS metadata,
  COLLECT {
    MATCH (episode)-[:HAS_STEP]->(step:Step)
    RETURN step {.id, .index, .observation, .action, .feedback,
      activated: COLLECT {
        MATCH (step)-[activated:ACTIVATED]->(memory:Memory)
        RETURN activated {.*, id: memory.id} ORDER BY activated.rank
      }}
    ORDER BY step.index
  } AS steps
