// fluxmem.internal.ofSubject(namespace :: STRING, key :: STRING) :: (id :: STRING)
//
// The facts that mention an entity, are about it, or were said by one of that name, with their former versions.
//
// mode: READ
CYPHER 25
CALL () {
  MATCH (:Entity {namespace: $namespace, key: $key})<-[:MENTIONS|ABOUT]-(memory:Memory)
  RETURN memory
  UNION
  MATCH (memory:Memory)
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND toLower(memory.speaker) = $key
  RETURN memory
}
RETURN DISTINCT memory.id AS id
