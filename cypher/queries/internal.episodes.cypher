// fluxmem.internal.episodes(namespace :: STRING, top :: INTEGER) :: (id :: STRING, task :: STRING, status :: STRING, source :: STRING, steps :: INTEGER, success :: FLOAT, started_at :: ZONED DATETIME, ended_at :: ZONED DATETIME)
//
// Episodes that are not deleted, running or ended, newest first.
//
// mode: READ
CYPHER 25
MATCH (episode:Memory)
WHERE episode.namespace = $namespace AND episode.id IS NOT NULL AND episode.layer = 'episodic'
  AND episode.status <> 'deleted'
WITH episode ORDER BY episode.started_at DESC, episode.id DESC LIMIT $top
RETURN episode.id AS id, episode.task AS task, episode.status AS status, episode.source AS source,
  COUNT { (episode)-[:HAS_STEP]->() } AS steps, episode.success AS success, episode.started_at AS started_at,
  episode.ended_at AS ended_at
ORDER BY started_at DESC, id DESC
