// fluxmem.internal.known(namespace :: STRING, keys :: LIST<STRING>) :: (key :: STRING, id :: STRING, content_hash :: STRING)
//
// Which of these keys are stored already, and with which content.
//
// mode: READ
CYPHER 25
UNWIND $keys AS key
MATCH (memory:Memory {namespace: $namespace, key: key})
RETURN key, memory.id AS id, memory.content_hash AS content_hash
