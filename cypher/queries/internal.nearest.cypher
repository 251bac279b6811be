// fluxmem.internal.nearest(namespace :: STRING, embedding :: LIST<FLOAT>, topK :: INTEGER) :: (id :: STRING, cosine :: FLOAT)
//
// Active facts nearest to an embedding, best first; no episode or skill takes up a place.
//
// The index is approximate, and finds the nearest more surely when it is asked for more: see `fluxmem.search`.
//
// mode: READ
CYPHER 25
MATCH (fact:Memory)
  SEARCH fact IN (
    VECTOR INDEX memory_embedding FOR $embedding
    WHERE fact.namespace = $namespace AND fact.layer = 'semantic' AND fact.status = 'active'
    LIMIT CASE WHEN $topK < 70 THEN 70 ELSE $topK END
  ) SCORE AS score
RETURN fact.id AS id, 2 * score - 1 AS cosine
ORDER BY cosine DESC, id
LIMIT $topK
