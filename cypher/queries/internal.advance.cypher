// fluxmem.internal.advance(namespace :: STRING, stream :: STRING, steps :: INTEGER, nextEpisodeId :: STRING, key :: STRING, at :: ZONED DATETIME, episodeId = null :: STRING) :: (uri :: STRING)
//
// Move a stream on to its next message, unless it has moved since it was read.
//
// `episodeId` is the episode that was open then (null: none) and `steps` its steps. No row: another process was
// faster, and the decision has to be made again.
//
// mode: WRITE
CYPHER 25
MERGE (source:Source {namespace: $namespace, uri: $stream})
  ON CREATE SET source.id = randomUUID()
SET source.namespace = source.namespace // takes the lock before the state is read
WITH source
OPTIONAL MATCH (episode:Memory {namespace: $namespace, id: source.episode_id})
  WHERE episode.status = 'candidate' AND episode.ended_at IS NULL
WITH source, episode
WHERE coalesce(episode.id, '') = coalesce($episodeId, '') AND COUNT { (episode)-[:HAS_STEP]->() } = $steps
SET source.episode_id = $nextEpisodeId, source.last_key = $key, source.last_at = $at
RETURN source.uri AS uri
