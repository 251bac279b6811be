// fluxmem.internal.known(namespace :: STRING, keys :: LIST<STRING>) :: (key :: STRING, id :: STRING, status :: STRING, hashes :: LIST<STRING>, sources :: LIST<STRING>)
//
// Which of these keys are stored already, or were until an edit, with which contents and from which sources.
//
// `hashes` are those of the content and then of its former versions.
//
// mode: READ
CYPHER 25
UNWIND $keys AS key
OPTIONAL MATCH (present:Memory {namespace: $namespace, key: key})
CALL (key, present) {
  WITH * WHERE present IS NULL
  MATCH (former:Memory)
  WHERE former.namespace = $namespace AND former.key STARTS WITH key + '@' AND former.status = 'superseded'
  RETURN former LIMIT 1
  UNION ALL
  WITH * WHERE present IS NOT NULL
  RETURN present AS former
}
RETURN key, former.id AS id, former.status AS status, [former.content_hash] + COLLECT {
    MATCH (former)-[:SUPERSEDES]->(earlier:Memory {status: 'superseded'}) RETURN earlier.content_hash
  } AS hashes,
  COLLECT { MATCH (former)<-[:SUPERSEDES*0..1]-(holder:Memory)-[:FROM]->(source:Source) RETURN DISTINCT source.uri } AS sources
