// fluxmem.stats(namespace :: STRING) :: (kind :: STRING, name :: STRING, count :: INTEGER)
//
// How much a namespace holds: memories by layer and status, entities, sources, steps, operations, links.
//
// mode: READ
CYPHER 25
CALL () {
  MATCH (memory:Memory) WHERE memory.namespace = $namespace
  RETURN 'memory' AS kind, memory.layer + ' ' + memory.status AS name, count(*) AS count
  UNION ALL
  MATCH (node:Entity|Source|Step|Operation) WHERE node.namespace = $namespace
  RETURN 'node' AS kind, toLower(head(labels(node))) AS name, count(*) AS count
  UNION ALL
  MATCH (memory:Memory)-[link]->(:Memory|Entity|Source) WHERE memory.namespace = $namespace
  RETURN 'link' AS kind, type(link) AS name, count(*) AS count
}
RETURN kind, name, count ORDER BY kind, name
