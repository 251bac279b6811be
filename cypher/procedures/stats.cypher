// fluxmem.stats(namespace :: STRING) :: (kind :: STRING, name :: STRING, count :: INTEGER)
//
// How much a namespace holds: memories by layer and status, entities, sources, steps, operations, links.
//
// mode: READ
CYPHER 25
CALL () {
  MATCH (memory:Memory) WHERE memory.namespace = $namespace AND memory.id IS NOT NULL
  RETURN 'memory' AS kind, memory.layer + ' ' + memory.status AS name, count(*) AS count
  UNION ALL
  MATCH (node:Entity) WHERE node.namespace = $namespace AND node.key IS NOT NULL
  RETURN 'node' AS kind, 'entity' AS name, count(*) AS count
  UNION ALL
  MATCH (node:Source) WHERE node.namespace = $namespace AND node.uri IS NOT NULL
  RETURN 'node' AS kind, 'source' AS name, count(*) AS count
  UNION ALL
  MATCH (node:Step) WHERE node.namespace = $namespace AND node.id IS NOT NULL
  RETURN 'node' AS kind, 'step' AS name, count(*) AS count
  UNION ALL
  MATCH (node:Operation) WHERE node.namespace = $namespace AND node.seq IS NOT NULL
  RETURN 'node' AS kind, 'operation' AS name, count(*) AS count
  UNION ALL
  MATCH (memory:Memory)-[link]->()
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL
  RETURN 'link' AS kind, type(link) AS name, count(*) AS count
}
RETURN kind, name, count ORDER BY kind, name
