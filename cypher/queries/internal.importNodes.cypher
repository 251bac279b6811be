// fluxmem.internal.importNodes(namespace :: STRING, kind :: STRING, rows :: LIST<MAP>) :: (id :: STRING, stored :: STRING, created :: BOOLEAN)
//
// Store nodes as they were exported; one that is there already is left as it is.
//
// A row holds id (what names it), labels, properties, times, time_lists (maps) and vectors (a map). `stored` names
// the node that stands for the row: of a memory whose key another one has, that other one.
//
// mode: WRITE
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
UNWIND $rows AS row
CALL (tenant, row) {
  WITH * WHERE $kind = 'memory'
  OPTIONAL MATCH (twin:Memory {namespace: $namespace, key: row.properties.key})
  CALL (tenant, row, twin) {
    WITH * WHERE twin IS NULL
    MERGE (node:Memory {namespace: $namespace, id: row.id})
      ON CREATE SET node += row.properties, node.namespace_key = tenant.key, node.fresh = true
    RETURN node
    UNION ALL
    WITH * WHERE twin IS NOT NULL
    RETURN twin AS node
  }
  RETURN node, node.id AS stored
  UNION ALL
  WITH * WHERE $kind = 'step'
  MERGE (node:Step {namespace: $namespace, id: row.id})
    ON CREATE SET node += row.properties, node.fresh = true
  RETURN node, node.id AS stored
  UNION ALL
  WITH * WHERE $kind = 'entity'
  MERGE (node:Entity {namespace: $namespace, key: row.id})
    ON CREATE SET node += row.properties, node.fresh = true
  RETURN node, node.key AS stored
  UNION ALL
  WITH * WHERE $kind = 'source'
  MERGE (node:Source {namespace: $namespace, uri: row.id})
    ON CREATE SET node += row.properties, node.fresh = true
  RETURN node, node.uri AS stored
  UNION ALL
  WITH * WHERE $kind = 'operation'
  MERGE (node:Operation {namespace: $namespace, id: row.id})
    ON CREATE SET node += row.properties, node.fresh = true
  RETURN node, node.id AS stored
}
WITH row, node, stored, coalesce(node.fresh, false) AS fresh
REMOVE node.fresh
WITH row, node, stored, fresh
CALL (row, node, fresh) {
  UNWIND CASE WHEN fresh THEN row.labels ELSE [] END AS label
  SET node:$(label)
}
CALL (row, node, fresh) {
  UNWIND CASE WHEN fresh THEN keys(row.times) ELSE [] END AS name
  SET node[name] = datetime(row.times[name])
}
CALL (row, node, fresh) {
  UNWIND CASE WHEN fresh THEN keys(row.time_lists) ELSE [] END AS name
  SET node[name] = [at IN row.time_lists[name] | datetime(at)]
}
CALL (row, node, fresh) {
  UNWIND CASE WHEN fresh THEN keys(row.vectors) ELSE [] END AS name
  WITH node, name, row WHERE name <> 'embedding'
  SET node[name] = toFloatList(row.vectors[name])
}
CALL (row, node, fresh) {
  WITH * WHERE fresh AND row.vectors.embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(node, 'embedding', toFloatList(row.vectors.embedding))
}
RETURN row.id AS id, stored, fresh AS created
