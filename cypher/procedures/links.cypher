// fluxmem.links(namespace :: STRING, order = strongest :: STRING, top = 100 :: INTEGER) :: (type :: STRING, id :: STRING, name :: STRING, other_id :: STRING, other_name :: STRING, weight :: FLOAT, successes :: FLOAT, failures :: FLOAT, origin :: STRING, tentative :: BOOLEAN, updated_at :: ZONED DATETIME)
//
// The links that feedback changes, SUPPORTS and ASSOCIATED: the strongest, newest or weakest of a namespace.
//
// A link goes from `id` to `other_id`. Links of deleted memories are left out; any other order gives no rows.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory)-[link:SUPPORTS|ASSOCIATED]->(other:Memory)
WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND other.namespace = $namespace
  AND memory.status <> 'deleted' AND other.status <> 'deleted' AND $order IN ['strongest', 'newest', 'weakest']
WITH memory, link, other, coalesce(link.updated_at.epochMillis, 0) AS updated
ORDER BY
  CASE $order WHEN 'newest' THEN -updated WHEN 'weakest' THEN link.weight ELSE -link.weight END,
  -updated, type(link), memory.id, other.id
LIMIT $top
RETURN type(link) AS type, memory.id AS id, memory.name AS name, other.id AS other_id, other.name AS other_name,
  link.weight AS weight, toFloat(link.successes) AS successes, toFloat(link.failures) AS failures,
  link.origin AS origin, coalesce(link.tentative, false) AS tentative, link.updated_at AS updated_at
