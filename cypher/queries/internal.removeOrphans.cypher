// fluxmem.internal.removeOrphans(namespace :: STRING) :: (removed :: INTEGER)
//
// Delete names and sources that no memory has; they are made anew when one does.
//
// mode: WRITE
CYPHER 25
CALL () {
  MATCH (node:Entity)
  WHERE node.namespace = $namespace AND node.key IS NOT NULL AND NOT EXISTS { (node)--() }
  RETURN node
  UNION ALL
  MATCH (node:Source)
  WHERE node.namespace = $namespace AND node.uri IS NOT NULL AND node.last_key IS NULL AND NOT EXISTS { (node)--() }
  RETURN node
}
DELETE node
RETURN count(*) AS removed
