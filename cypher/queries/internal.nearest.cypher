// fluxmem.internal.nearest(namespace :: STRING, embedding :: LIST<FLOAT>, topK :: INTEGER) :: (id :: STRING, cosine :: FLOAT)
//
// Active facts nearest to an embedding, best first, at most 70; no episode or skill takes up a place.
//
// The index is approximate, and finds the nearest more surely when it is asked for more: see `fluxmem.search`.
//
// mode: READ
CYPHER 25
MATCH (fact:Memory)
  SEARCH fact IN (
    VECTOR INDEX memory_embedding FOR $embedding
    WHERE fact.namespace = $namespace AND fact.layer = 'semantic' AND fact.status = 'active'
    LIMIT 70
  ) SCORE AS score
RETURN fact.id AS id, 2 * score - 1 AS cosine
ORDER BY cosine DESC, id
LIMIT $topK
