// fluxmem.explain(namespace :: STRING, id :: STRING, top = 100 :: INTEGER) :: (type :: STRING, direction :: STRING, id :: STRING, name :: STRING, layer :: STRING, weight :: FLOAT, successes :: FLOAT, failures :: FLOAT, origin :: STRING, tentative :: BOOLEAN, updated_at :: ZONED DATETIME, feedback :: LIST<MAP>)
//
// Why a memory is linked: each link, with its other end and the operations that made it what it is.
//
// At most `top` links of a type, strongest first; the links that feedback changes come before the others.
// `direction` is out or in; `layer` is entity or source where the other end is no memory. `feedback` holds maps of
// operation, seq, kind, at (text, UTC), actor, reason, gain, loss and undone, newest first, twenty at most. Gains and
// losses add up to the counts, but for those that are undone or came with the link.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory {namespace: $namespace, id: $id})
UNWIND ['SUPPORTS', 'ASSOCIATED', 'RESHAPES', 'SUPERSEDES', 'DISTILLED_INTO', 'NEXT', 'ABOUT', 'MENTIONS', 'FROM'] AS type
CALL (memory, type) {
  MATCH (memory)-[link:$(type)]-(other)
  WHERE other.namespace = $namespace
  WITH memory, link, other, coalesce(other.name, other.uri) AS name
  ORDER BY coalesce(link.weight, 0.0) DESC, name, other.id
  LIMIT $top
  RETURN link, other, name, startNode(link) = memory AS outgoing
}
WITH memory, type, link, other, name, outgoing, startNode(link) AS linked, endNode(link) AS target
RETURN type, CASE WHEN outgoing THEN 'out' ELSE 'in' END AS direction, other.id AS id, name,
  coalesce(other.layer, CASE WHEN other:Source THEN 'source' WHEN other:Entity THEN 'entity' END) AS layer,
  toFloat(link.weight) AS weight, toFloat(link.successes) AS successes, toFloat(link.failures) AS failures,
  link.origin AS origin, link.tentative AS tentative, link.updated_at AS updated_at,
  COLLECT {
    WITH linked, target, type WHERE type IN ['SUPPORTS', 'ASSOCIATED']
    MATCH (linked)<-[vote:TOUCHED {link: type}]-(operation:Operation)
    WHERE vote.other = target.id OR (vote.other IS NULL AND EXISTS { (operation)-[:TOUCHED]->(target) })
    RETURN {operation: operation.id, seq: operation.seq, kind: operation.kind,
      at: toString(datetime({datetime: operation.at, timezone: 'Z'})), actor: operation.actor,
      reason: operation.reason, gain: vote.gain, loss: vote.loss, undone: coalesce(operation.undone, false)}
    ORDER BY operation.seq DESC LIMIT 20
  } AS feedback
