// fluxmem.internal.importLinks(namespace :: STRING, kind :: STRING, rows :: LIST<MAP>) :: (created :: INTEGER)
//
// Store links that go out from nodes of one kind (memory, step or operation), as they were exported.
//
// A row holds id (its start), type, end_kind, end, properties, times, time_lists, vectors and nth: how many alike
// (type, start and end) come before it. As many as are there already are left out, so that a second run adds none.
//
// mode: WRITE
CYPHER 25
UNWIND $rows AS row
CALL (row) {
  WITH * WHERE $kind = 'memory'
  MATCH (start:Memory {namespace: $namespace, id: row.id})
  RETURN start
  UNION ALL
  WITH * WHERE $kind = 'step'
  MATCH (start:Step {namespace: $namespace, id: row.id})
  RETURN start
  UNION ALL
  WITH * WHERE $kind = 'operation'
  MATCH (start:Operation {namespace: $namespace, id: row.id})
  RETURN start
}
CALL (row) {
  WITH * WHERE row.end_kind = 'memory'
  MATCH (end:Memory {namespace: $namespace, id: row.end})
  RETURN end
  UNION ALL
  WITH * WHERE row.end_kind = 'step'
  MATCH (end:Step {namespace: $namespace, id: row.end})
  RETURN end
  UNION ALL
  WITH * WHERE row.end_kind = 'entity'
  MATCH (end:Entity {namespace: $namespace, key: row.end})
  RETURN end
  UNION ALL
  WITH * WHERE row.end_kind = 'source'
  MATCH (end:Source {namespace: $namespace, uri: row.end})
  RETURN end
  UNION ALL
  WITH * WHERE row.end_kind = 'operation'
  MATCH (end:Operation {namespace: $namespace, id: row.end})
  RETURN end
}
WITH row, start, end
WHERE start <> end AND COUNT { MATCH (start)-[link:$(row.type)]->(end) RETURN link } <= row.nth
CREATE (start)-[link:$(row.type)]->(end)
SET link = row.properties
WITH row, link
CALL (row, link) {
  UNWIND keys(row.times) AS name
  SET link[name] = datetime(row.times[name])
}
CALL (row, link) {
  UNWIND keys(row.time_lists) AS name
  SET link[name] = [at IN row.time_lists[name] | datetime(at)]
}
CALL (row, link) {
  UNWIND keys(row.vectors) AS name
  SET link[name] = toFloatList(row.vectors[name])
}
RETURN count(link) AS created
