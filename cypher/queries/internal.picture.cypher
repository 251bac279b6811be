// fluxmem.internal.picture(namespace :: STRING, id = null :: STRING, top = 100 :: INTEGER) :: (id :: STRING, kind :: STRING, name :: STRING, text :: STRING, status :: STRING, links :: LIST<MAP>)
//
// At most `top` nodes to draw, each with its links to the others: of a namespace, or of one run or skill by its id.
//
// Of a namespace: skills, the newest runs and facts, and the names that two of those share. Of a run: its steps, what
// they had in mind, what supported it and its skills. Of a skill: its versions, their runs and what supported those.
// `kind` is a layer, step or entity; `links` are maps of type, other (an id of this result) and weight.
//
// mode: READ
CYPHER 25
CALL () {
  WITH * WHERE $id IS NULL
  CALL () {
    MATCH (node:Procedural {namespace: $namespace})
    WHERE node.skill_id IS NOT NULL AND node.status <> 'deleted'
    RETURN node, 0 AS place ORDER BY node.pems DESC, node.id LIMIT $top / 5 + 1
    UNION ALL
    MATCH (node:Episodic)
    WHERE node.namespace = $namespace AND node.id IS NOT NULL AND node.status <> 'deleted'
    RETURN node, 1 AS place ORDER BY node.id DESC LIMIT $top / 5 + 1
    UNION ALL
    MATCH (node:Memory)
    WHERE node.namespace = $namespace AND node.id IS NOT NULL AND node.layer = 'semantic' AND node.status <> 'deleted'
    WITH node ORDER BY node.id DESC LIMIT $top
    WITH collect(node) AS facts
    CALL (facts) {
      UNWIND facts AS node
      RETURN node, 2 AS place
      UNION ALL
      UNWIND facts AS fact
      MATCH (fact)-[:ABOUT|MENTIONS]->(node:Entity)
      WITH node, count(DISTINCT fact) AS shared WHERE shared > 1
      RETURN node, 3 AS place ORDER BY shared DESC, node.key LIMIT $top / 5
    }
    RETURN node, place
  }
  RETURN node, CASE place WHEN 3 THEN 1 ELSE place END AS place
  UNION ALL
  WITH * WHERE $id IS NOT NULL
  MATCH (asked:Memory {namespace: $namespace, id: $id})
  CALL (asked) {
    WITH * WHERE asked.layer <> 'procedural'
    RETURN asked AS root
    UNION
    WITH * WHERE asked.layer = 'procedural'
    MATCH (root:Procedural {namespace: $namespace, skill_id: asked.skill_id})
    RETURN root
  }
  CALL (root) {
    RETURN root AS node, 0 AS place
    UNION ALL
    MATCH (root)-[:HAS_STEP]->(node:Step)
    RETURN node, 1 AS place
    UNION ALL
    MATCH (root)-[:HAS_STEP]->(:Step)-[:ACTIVATED]->(node:Memory)
    RETURN node, 2 AS place
    UNION ALL
    MATCH (root)-[:SUPPORTS|ASSOCIATED|DISTILLED_INTO]-(node:Memory)
    RETURN node, 1 AS place
    UNION ALL
    MATCH (root)<-[:DISTILLED_INTO]-(:Episodic)<-[:SUPPORTS]-(node:Semantic)
    RETURN node, 2 AS place
  }
  RETURN node, place
}
WITH node, min(place) AS place
ORDER BY place, node.id DESC
LIMIT $top
WITH collect(node) AS nodes
UNWIND nodes AS node
RETURN node.id AS id,
  CASE WHEN node:Step THEN 'step' WHEN node:Entity THEN 'entity' ELSE node.layer END AS kind,
  coalesce(node.name, left(node.observation, 60)) AS name,
  CASE WHEN node:Step THEN node.observation + '\n→ ' + coalesce(node.action, '') ELSE coalesce(node.content, node.name) END AS text,
  node.status AS status,
  COLLECT {
    MATCH (node)-[link:SUPPORTS|ASSOCIATED|DISTILLED_INTO|RESHAPES|SUPERSEDES|NEXT|ABOUT|MENTIONS|HAS_STEP|ACTIVATED]->(other)
    WHERE other IN nodes
    RETURN {type: type(link), other: other.id, weight: toFloat(link.weight)} ORDER BY type(link), other.id
  } AS links
