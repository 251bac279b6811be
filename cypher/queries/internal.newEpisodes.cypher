// fluxmem.internal.newEpisodes(namespace :: STRING) :: (count :: INTEGER, seq :: INTEGER)
//
// How many episodes have ended since skills were last made, and where the log ends.
//
// mode: READ
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
RETURN COUNT {
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.seq > coalesce(tenant.consolidated_seq, 0)
    AND operation.kind IN ['episode', 'end']
  MATCH (operation)-[:TOUCHED]->(episode:Memory)
  WHERE episode.ended_at IS NOT NULL
  RETURN DISTINCT episode
} AS count, tenant.seq AS seq
