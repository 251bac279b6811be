// fluxmem.internal.exportNodes(namespace :: STRING, kind :: STRING, after :: STRING, afterSeq :: INTEGER, top :: INTEGER) :: (kind :: STRING, place :: STRING, seq :: INTEGER, labels :: LIST<STRING>, properties :: LIST<ANY>)
//
// A page of a namespace's nodes of one kind with all they hold, in the order of what names them.
//
// `kind` is memory, step, entity, source or operation; `place` is the id, key or uri, to page on with `after`, and
// `seq` that of operations, to page on with `afterSeq`. A property is its name, its form and its value: times and
// lists of times come as text, which keeps their nanoseconds. Labels are fluxmem's own: an import sets no others.
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
  WITH * WHERE $kind = 'entity'
  MATCH (node:Entity) WHERE node.namespace = $namespace AND node.key > $after
  RETURN node, node.key AS place, 0 AS seq ORDER BY place LIMIT $top
  UNION ALL
  WITH * WHERE $kind = 'source'
  MATCH (node:Source) WHERE node.namespace = $namespace AND node.uri > $after
  RETURN node, node.uri AS place, 0 AS seq ORDER BY place LIMIT $top
  UNION ALL
  WITH * WHERE $kind = 'operation'
  MATCH (node:Operation) WHERE node.namespace = $namespace AND node.seq > $afterSeq
  RETURN node, node.id AS place, node.seq AS seq ORDER BY seq LIMIT $top
}
RETURN $kind AS kind, place, seq, [label IN labels(node) WHERE label IN ['Semantic', 'Episodic', 'Procedural', 'Step', 'Entity', 'Source', 'Operation']] AS labels,
  [name IN keys(node) WHERE NOT name IN ['namespace', 'namespace_key'] | CASE
    WHEN valueType(node[name]) STARTS WITH 'ZONED DATETIME' THEN [name, 'time', toString(node[name])]
    WHEN valueType(node[name]) STARTS WITH 'LIST<ZONED DATETIME' THEN [name, 'times', [at IN node[name] | toString(at)]]
    WHEN valueType(node[name]) STARTS WITH 'LIST<FLOAT' THEN [name, 'float32', node[name]]
    ELSE [name, 'plain', node[name]] END] AS properties
ORDER BY seq, place
