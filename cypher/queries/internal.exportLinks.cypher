// fluxmem.internal.exportLinks(namespace :: STRING, kind :: STRING, after :: STRING, afterSeq :: INTEGER, top :: INTEGER) :: (place :: STRING, seq :: INTEGER, links :: LIST<MAP>)
//
// The links that go out from a page of a namespace's nodes of one kind, which `internal.exportNodes` pages alike.
//
// A link is a map of type, kind and id (its end: a memory's, step's or operation's id, an entity's key, a source's
// uri) and properties, in the form of `internal.exportNodes`. Only memories, steps and operations have any. Types
// are fluxmem's own: an import makes no others.
//
// mode: READ
CYPHER 25
CALL () {
  WITH * WHERE $kind = 'memory'
  MATCH (node:Memory) WHERE node.namespace = $namespace AND node.id > $after
  RETURN node, node.id AS place, 0 AS seq ORDER BY place LIMIT $top
  UNION ALL
  WITH * WHERE $kind = 'step'
  MATCH (node:Step) WHERE node.namespace = $namespace AND node.id > $after
  RETURN node, node.id AS place, 0 AS seq ORDER BY place LIMIT $top
  UNION ALL
  WITH * WHERE $kind = 'operation'
  MATCH (node:Operation) WHERE node.namespace = $namespace AND node.seq > $afterSeq
  RETURN node, node.id AS place, node.seq AS seq ORDER BY seq LIMIT $top
}
RETURN place, seq, COLLECT {
  MATCH (node)-[link:ABOUT|ACTIVATED|ASSOCIATED|DISTILLED_INTO|FROM|HAS_STEP|MENTIONS|NEXT|RESHAPES|SUPERSEDES|SUPPORTS|TOUCHED]->(end)
  WHERE end.namespace = $namespace
  RETURN {type: type(link), kind: CASE WHEN end:Memory THEN 'memory' WHEN end:Step THEN 'step' WHEN end:Entity THEN 'entity'
      WHEN end:Source THEN 'source' ELSE 'operation' END,
    id: CASE WHEN end:Entity THEN end.key WHEN end:Source THEN end.uri ELSE end.id END,
    properties: [name IN keys(link) | CASE
      WHEN valueType(link[name]) STARTS WITH 'ZONED DATETIME' THEN [name, 'time', toString(link[name])]
      WHEN valueType(link[name]) STARTS WITH 'LIST<ZONED DATETIME' THEN [name, 'times', [at IN link[name] | toString(at)]]
      WHEN valueType(link[name]) STARTS WITH 'LIST<FLOAT' THEN [name, 'float32', link[name]]
      ELSE [name, 'plain', link[name]] END]}
} AS links
ORDER BY seq, place
