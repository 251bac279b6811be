// fluxmem.internal.running(namespace :: STRING, id :: STRING) :: (task :: STRING, status :: STRING, ended :: BOOLEAN, observation :: STRING, answered :: BOOLEAN, round :: INTEGER, corrections :: LIST<STRING>, hidden :: LIST<STRING>, shown :: LIST<MAP>, rewritings :: LIST<MAP>)
//
// Where a running episode stands: its last step, and what the failures since the last success said and hid.
//
// `answered`: the last step has its feedback. `round` counts those failures; `shown` are the facts of the last
// step's context, best first; `rewritings` are local to this episode.
//
// mode: READ
CYPHER 25
MATCH (episode:Memory {namespace: $namespace, id: $id})
WHERE episode.layer = 'episodic'
WITH episode, COLLECT { MATCH (episode)-[:HAS_STEP]->(step:Step) RETURN step ORDER BY step.index } AS steps
WITH episode, steps, reduce(solved = -1, step IN steps | CASE WHEN step.success >= 0.5 THEN step.index ELSE solved END) AS solved
WITH episode, last(steps) AS step, [step IN steps WHERE step.index > solved AND step.success IS NOT NULL] AS failed
RETURN episode.task AS task, episode.status AS status, episode.ended_at IS NOT NULL AS ended,
  step.observation AS observation, step.success IS NOT NULL AS answered, size(failed) AS round,
  [step IN failed WHERE step.feedback <> '' | step.feedback] AS corrections,
  COLLECT {
    UNWIND failed AS earlier
    MATCH (earlier)-[:ACTIVATED {pruned: true}]->(memory:Memory)
    RETURN DISTINCT memory.id
  } AS hidden,
  COLLECT {
    MATCH (step)-[activated:ACTIVATED]->(memory:Memory)
    WHERE memory.layer = 'semantic'
    RETURN memory {.id, .layer, .name, .content, .external_id, .source, .speaker, .occurred_at, .metadata,
      score: activated.score} ORDER BY activated.rank
  } AS shown,
  COLLECT {
    MATCH (episode)<-[:SUPPORTS {origin: 'reshape'}]-(memory:Memory {status: 'local'})
    RETURN memory {.id, .name, .content,
      sources: COLLECT { MATCH (memory)-[:RESHAPES]->(source:Memory) RETURN source.id ORDER BY source.id }}
    ORDER BY memory.id
  } AS rewritings
