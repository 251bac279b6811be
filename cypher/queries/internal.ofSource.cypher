// fluxmem.internal.ofSource(namespace :: STRING, uri :: STRING) :: (id :: STRING, others :: LIST<STRING>)
//
// The memories and episodes that come from a source, each with the other sources that it has.
//
// mode: READ
CYPHER 25
MATCH (source:Source {namespace: $namespace, uri: $uri})<-[:FROM]-(memory:Memory)
RETURN DISTINCT memory.id AS id, COLLECT {
    MATCH (memory)-[:FROM]->(other:Source) WHERE other <> source RETURN DISTINCT other.uri ORDER BY other.uri
  } AS others
