// fluxmem.internal.stream(namespace :: STRING, stream :: STRING, key :: STRING, embedding :: LIST<FLOAT>, window :: INTEGER) :: (episode_id :: STRING, steps :: INTEGER, at :: ZONED DATETIME, last_key :: STRING, cosines :: LIST<FLOAT>, speakers :: LIST<STRING>, known_id :: STRING, known_hash :: STRING, known_episode :: STRING)
//
// Where a stream stands: its open episode, and how near the last messages in it are to a new one.
//
// Without an open episode `episode_id` is null. `known_*` are about the message with the same key, if it is stored.
//
// mode: READ
CYPHER 25
OPTIONAL MATCH (source:Source {namespace: $namespace, uri: $stream})
OPTIONAL MATCH (episode:Memory {namespace: $namespace, id: source.episode_id})
  WHERE episode.status = 'candidate' AND episode.ended_at IS NULL
OPTIONAL MATCH (known:Memory {namespace: $namespace, key: $key})
OPTIONAL MATCH (tenant:Namespace {name: $namespace})
RETURN episode.id AS episode_id, COUNT { (episode)-[:HAS_STEP]->() } AS steps, source.last_at AS at,
  source.last_key AS last_key,
  COLLECT {
    MATCH (episode)-[:HAS_STEP]->(step:Step)
    WITH step ORDER BY step.index DESC LIMIT $window
    MATCH (step)-[:ACTIVATED {rank: 0}]->(memory:Memory)
    WHERE memory.embedding IS NOT NULL
    RETURN 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1
  } AS cosines,
  coalesce(tenant.speakers, []) AS speakers, known.id AS known_id, known.content_hash AS known_hash,
  head(COLLECT {
    MATCH (known)<-[:ACTIVATED {rank: 0}]-(:Step)<-[:HAS_STEP]-(observing:Memory)
    RETURN observing.id LIMIT 1
  }) AS known_episode
