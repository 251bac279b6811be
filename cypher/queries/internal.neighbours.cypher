// fluxmem.internal.neighbours(namespace :: STRING, id :: STRING) :: (id :: STRING, content :: STRING, speaker :: STRING)
//
// A fact between the one before and the one after it in time, in that order.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory {namespace: $namespace, id: $id})
CALL (memory) {
  MATCH (memory)<-[:NEXT]-(other:Memory) WHERE other.status = 'active' RETURN other, 0 AS place LIMIT 1
  UNION ALL
  RETURN memory AS other, 1 AS place
  UNION ALL
  MATCH (memory)-[:NEXT]->(other:Memory) WHERE other.status = 'active' RETURN other, 2 AS place LIMIT 1
}
RETURN other.id AS id, other.content AS content, other.speaker AS speaker
ORDER BY place
