// fluxmem.internal.checkOrphans(namespace :: STRING) :: (kind :: STRING, count :: INTEGER, examples :: LIST<STRING>)
//
// What hangs on nothing: names that no memory has, sources of nothing, steps of no episode, versions of no memory.
//
// mode: READ
CYPHER 25
CALL () {
  MATCH (node:Entity)
  WHERE node.namespace = $namespace AND node.key IS NOT NULL AND NOT EXISTS { (node)--() }
  RETURN 'entity' AS kind, node.key AS example
  UNION ALL
  // A source with an open stream keeps where the stream stands.
  MATCH (node:Source)
  WHERE node.namespace = $namespace AND node.uri IS NOT NULL AND node.last_key IS NULL AND NOT EXISTS { (node)--() }
  RETURN 'source' AS kind, node.uri AS example
  UNION ALL
  MATCH (node:Step)
  WHERE node.namespace = $namespace AND node.id IS NOT NULL AND NOT EXISTS { (node)<-[:HAS_STEP]-() }
  RETURN 'step' AS kind, node.id AS example
  UNION ALL
  MATCH (node:Memory)
  WHERE node.namespace = $namespace AND node.id IS NOT NULL AND node.status = 'superseded' AND node.layer = 'semantic'
    AND NOT EXISTS { (node)<-[:SUPERSEDES]-() }
  RETURN 'former version' AS kind, node.id AS example
}
RETURN kind, count(*) AS count, collect(example)[..3] AS examples
ORDER BY kind
