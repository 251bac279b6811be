// fluxmem.internal.trajectories(namespace :: STRING, afterId :: STRING, top = 100 :: INTEGER) :: (id :: STRING, embedding :: LIST<FLOAT>)
//
// Ended episodes with their trajectory vectors, a page by id.
//
// mode: READ
CYPHER 25
MATCH (episode:Episodic)
WHERE episode.namespace = $namespace AND episode.id > $afterId
WITH episode ORDER BY episode.id
WHERE episode.status = 'active' AND episode.ended_at IS NOT NULL
RETURN episode.id AS id, episode.trajectory_embedding AS embedding
LIMIT $top
