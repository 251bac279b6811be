// fluxmem.internal.derived(namespace :: STRING, ids :: LIST<STRING>) :: (id :: STRING, layer :: STRING, content :: STRING, also :: LIST<STRING>)
//
// Memories with what was made of them: other versions, rewritings, and the skills distilled from an episode.
//
// mode: READ
CYPHER 25
UNWIND $ids AS id
MATCH (memory:Memory {namespace: $namespace, id: id})
RETURN id, memory.layer AS layer, memory.content AS content, COLLECT {
    MATCH (memory)-[:SUPERSEDES]-(other:Memory) RETURN other.id
    UNION
    MATCH (memory)<-[:RESHAPES]-(other:Memory) RETURN other.id
    UNION
    MATCH (memory)-[:DISTILLED_INTO]->(other:Memory) RETURN other.id
  } AS also
