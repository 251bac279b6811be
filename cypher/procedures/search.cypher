// fluxmem.search(namespace :: STRING, embedding :: LIST<FLOAT>, topK = 10 :: INTEGER) :: (id :: STRING, cosine :: FLOAT)
//
// Active memories nearest to an embedding, best first.
//
// The tenant filter is inside the index, so another tenant's nearer vectors never use up topK. The index is approximate:
// asked for ten among 100,000 memories it misses one of thirty, asked for seventy hardly one of a hundred of those ten.
// Neo4j's score is (1 + cosine) / 2; it is undone so that Stage I adds cosines.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory)
  SEARCH memory IN (
    VECTOR INDEX memory_embedding FOR $embedding
    WHERE memory.namespace = $namespace AND memory.status = 'active'
    LIMIT CASE WHEN $topK < 70 THEN 70 ELSE $topK END
  ) SCORE AS score
RETURN memory.id AS id, 2 * score - 1 AS cosine
ORDER BY cosine DESC, id
LIMIT $topK
