// fluxmem.spread(namespace :: STRING, ids :: LIST<STRING>, scores :: LIST<FLOAT>, embedding = null :: LIST<FLOAT>, topK = 10 :: INTEGER, tags = [] :: LIST<STRING>, options = {} :: MAP) :: (id :: STRING, layer :: STRING, name :: STRING, content :: STRING, score :: FLOAT, spread :: FLOAT, path :: LIST<STRING>, external_id :: STRING, source :: STRING, speaker :: STRING, occurred_at :: ZONED DATETIME, metadata :: STRING)
//
// Where scored facts lead: along shared names, learned links and similar episodes; with those and their skills.
//
// The second half of `fluxmem.activate`, for callers that scored its candidates themselves; best first.
//
// mode: READ
CYPHER 25
CALL () {
  UNWIND range(0, size($ids[..10]) - 1) AS place
  MATCH (memory:Memory {namespace: $namespace, id: $ids[place]})
  RETURN collect({memory: memory, score: $scores[place]}) AS reached
}
CALL () {
  WITH * WHERE $embedding IS NOT NULL AND coalesce($options.episodes, 3) > 0
  MATCH (episode:Memory)
    SEARCH episode IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE episode.namespace = $namespace AND episode.layer = 'episodic' AND episode.status = 'active'
      LIMIT 10
    ) SCORE AS score
  WITH episode, 2 * score - 1 AS similarity ORDER BY similarity DESC LIMIT coalesce($options.episodes, 3)
  RETURN collect({memory: episode, score: similarity, dense: similarity}) AS episodes
}
CALL (reached, episodes) {
  CALL (reached, episodes) {
    UNWIND range(0, size($ids) - 1) AS place
    RETURN $ids[place] AS id, $scores[place] AS own, 0.0 AS support, null AS way, 0.0 AS gain
    UNION ALL
    UNWIND reached[..10] AS entry
    WITH entry.memory AS seed, entry.score AS score
    MATCH (seed)-[link:MENTIONS|ABOUT]->(entity:Entity)
    WITH seed, score, link, entity, COUNT { (entity)<-[:MENTIONS|ABOUT]-() } AS degree
    WHERE degree > 1 AND degree <= coalesce($options.hub, 200)
    MATCH (entity)<-[back:MENTIONS|ABOUT]-(memory:Memory)
    WHERE memory <> seed AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    RETURN memory.id AS id, 0.0 AS own, 0.0 AS support, seed.id + ' → ' + entity.name AS way,
      CASE WHEN back:ABOUT AND link:MENTIONS THEN coalesce($options.title, 0.7)
        ELSE coalesce($options.entity, 0.4) END * score * log(3) / log(1 + degree) AS gain
    UNION ALL
    UNWIND reached[..10] AS entry
    WITH entry.memory AS seed, entry.score AS score
    MATCH (seed)-[link:ASSOCIATED]-(memory:Memory)
    WHERE memory.layer = 'semantic' AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH seed, score, link, memory ORDER BY link.weight DESC LIMIT 50
    RETURN memory.id AS id, 0.0 AS own, 0.0 AS support, seed.id + ' → associated' AS way, link.weight * score AS gain
    UNION ALL
    UNWIND episodes AS entry
    WITH entry.memory AS episode, entry.score AS similarity
    MATCH (memory:Memory)-[link:SUPPORTS]->(episode)
    WHERE memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH episode, similarity, memory, link ORDER BY link.weight DESC LIMIT 50
    RETURN memory.id AS id, 0.0 AS own, coalesce($options.support, 1.0) * similarity * (link.weight - 0.5) AS support,
      'supported ' + episode.id AS way, 0.0 AS gain
  }
  WITH id, sum(own) AS own, sum(support) AS support, max(gain) AS gain, collect([gain, way]) AS ways
  WITH id, support, gain, ways, own + gain + support AS score
  ORDER BY score DESC, id
  LIMIT $topK
  MATCH (memory:Memory {namespace: $namespace, id: id})
  WITH memory, score, support, gain, ways ORDER BY score DESC, memory.id
  RETURN collect({memory: memory, score: score, spread: gain + support,
    path: [pair IN ways WHERE pair[0] = gain AND pair[1] IS NOT NULL | pair[1]][..3]}) AS facts
}
CALL (episodes) {
  UNWIND episodes AS entry
  WITH entry.memory AS episode, entry.score AS similarity
  MATCH (episode)-[:DISTILLED_INTO]->(skill:Memory)
  WHERE skill.status = 'active' AND skill.review = 'approved'
  WITH skill, max(similarity * coalesce(skill.pems, 0.0)) AS score, collect('distilled from ' + episode.id) AS path
  ORDER BY score DESC, skill.id LIMIT 3
  RETURN collect({memory: skill, score: score, path: path}) AS skills
}
UNWIND facts + episodes + skills AS hit
WITH hit, hit.memory AS memory
RETURN memory.id AS id, memory.layer AS layer, memory.name AS name, memory.content AS content, hit.score AS score,
  hit.spread AS spread,
  coalesce(hit.path, []) AS path, memory.external_id AS external_id, memory.source AS source,
  memory.speaker AS speaker, memory.occurred_at AS occurred_at, memory.metadata AS metadata
