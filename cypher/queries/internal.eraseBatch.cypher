// fluxmem.internal.eraseBatch(namespace :: STRING, top :: INTEGER) :: (erased :: INTEGER)
//
// Destroy up to `top` nodes of a namespace, the namespace's own node last.
//
// mode: WRITE
CYPHER 25
CALL () {
  MATCH (node:Memory) WHERE node.namespace = $namespace AND node.id IS NOT NULL
  RETURN node
  UNION ALL
  MATCH (node:Step) WHERE node.namespace = $namespace AND node.id IS NOT NULL
  RETURN node
  UNION ALL
  MATCH (node:Operation) WHERE node.namespace = $namespace AND node.seq IS NOT NULL
  RETURN node
  UNION ALL
  MATCH (node:Entity) WHERE node.namespace = $namespace AND node.key IS NOT NULL
  RETURN node
  UNION ALL
  MATCH (node:Source) WHERE node.namespace = $namespace AND node.uri IS NOT NULL
  RETURN node
  UNION ALL
  MATCH (node:Namespace {name: $namespace})
  RETURN node
}
WITH node LIMIT $top
DETACH DELETE node
RETURN count(*) AS erased
