// fluxmem.spread(namespace :: STRING, ids :: LIST<STRING>, scores :: LIST<FLOAT>, episodes = [] :: LIST<MAP>, skills = [] :: LIST<MAP>, topK = 10 :: INTEGER, tags = [] :: LIST<STRING>, hidden = [] :: LIST<STRING>, options = {} :: MAP) :: (ids :: LIST<STRING>, layers :: LIST<STRING>, names :: LIST<STRING>, contents :: LIST<STRING>, scores :: LIST<FLOAT>, spreads :: LIST<FLOAT>, paths :: LIST<LIST<STRING>>, external_ids :: LIST<STRING>, sources :: LIST<STRING>, speakers :: LIST<STRING>, times :: LIST<STRING>, metadata :: LIST<STRING>)
//
// Where scored facts lead, along shared names and learned links; with similar episodes and their skills.
//
// The second half of `fluxmem.activate`, for callers that scored its candidates themselves; best first. One row of
// columns, since a row costs the server as much as a hundred values; times as ISO 8601 text, without the name of a zone,
// since a driver takes far longer over a time than over a text. `episodes` and `skills` are those of
// `fluxmem.candidates`; `hidden` facts are left out.
//
// mode: READ
CYPHER 25
CALL () {
  UNWIND range(0, size($ids[..10]) - 1) AS place
  MATCH (memory:Memory {namespace: $namespace, id: $ids[place]})
  RETURN collect({memory: memory, score: $scores[place]}) AS reached
}
CALL () {
  UNWIND $episodes AS entry
  MATCH (episode:Memory {namespace: $namespace, id: entry.id})
  WITH episode, entry.similarity AS similarity ORDER BY similarity DESC, episode.id
  RETURN collect({memory: episode, score: similarity}) AS similar
}
CALL (reached) {
  CALL (reached) {
    UNWIND range(0, size($ids) - 1) AS place
    RETURN $ids[place] AS id, $scores[place] AS own, null AS way, 0.0 AS gain
    UNION ALL
    UNWIND reached AS entry
    WITH entry.memory AS seed, entry.score AS score
    MATCH (seed)-[link:MENTIONS|ABOUT]->(entity:Entity)
    WITH seed, score, link, entity, COUNT { (entity)<-[:MENTIONS|ABOUT]-() } AS degree
    WHERE degree > 1 AND degree <= coalesce($options.hub, 200)
    MATCH (entity)<-[back:MENTIONS|ABOUT]-(memory:Memory)
    WHERE memory <> seed AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    RETURN memory.id AS id, 0.0 AS own, seed.id + ' → ' + entity.name AS way,
      CASE WHEN back:ABOUT AND link:MENTIONS THEN coalesce($options.title, 0.7)
        ELSE coalesce($options.entity, 0.4) END * score * log(3) / log(1 + degree) AS gain
    UNION ALL
    UNWIND reached AS entry
    WITH entry.memory AS seed, entry.score AS score
    WHERE COUNT { (seed)-[:ASSOCIATED]-() } <= coalesce($options.hub, 200)
    MATCH (seed)-[link:ASSOCIATED]-(memory:Memory)
    WHERE memory.layer = 'semantic' AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH seed, score, link, memory ORDER BY link.weight DESC LIMIT 50
    RETURN memory.id AS id, 0.0 AS own, seed.id + ' → associated' AS way,
      coalesce($options.associated, 0.5) * (2 * link.weight - 1) * score AS gain
  }
  WITH id, sum(own) AS own, max(gain) AS gain, collect([gain, way]) AS ways
  WHERE NOT id IN $hidden
  WITH id, own + gain AS score, gain, ways
  ORDER BY score DESC, id
  LIMIT $topK
  MATCH (memory:Memory {namespace: $namespace, id: id})
  WITH memory, score, gain, ways ORDER BY score DESC, memory.id
  RETURN collect({memory: memory, score: score, spread: gain,
    path: [pair IN ways WHERE pair[0] = gain AND pair[1] IS NOT NULL | pair[1]][..3]}) AS facts
}
CALL () {
  UNWIND $skills AS entry
  MATCH (skill:Memory {namespace: $namespace, id: entry.id})
  RETURN collect({memory: skill, score: entry.similarity}) AS settled
}
WITH facts, settled, similar[..coalesce($options.episodes, 3)] AS episodes
CALL (episodes, settled) {
  CALL (episodes, settled) {
    UNWIND episodes AS entry
    WITH entry.memory AS episode, entry.score AS similarity
    MATCH (episode)-[:DISTILLED_INTO]->(skill:Memory)
    RETURN skill, similarity, 'distilled from ' + episode.id AS way
    UNION ALL
    UNWIND settled AS entry
    RETURN entry.memory AS skill, entry.score AS similarity, 'settled' AS way
  }
  WITH skill, similarity, way
  WHERE skill.status = 'active' AND skill.review = 'approved'
    OR coalesce($options.candidates, false) AND skill.status = 'candidate'
  WITH collect({skill: skill, similarity: similarity, way: way}) AS found, max(similarity) AS best
  UNWIND found AS entry
  // PEMS decides between skills that are about as near: 0.05 further away counts a third.
  WITH entry.skill AS skill, exp(20 * (entry.similarity - best)) AS nearness, entry.way AS way
  WITH skill, max(nearness) * coalesce(skill.pems, 0.0) AS score, collect(way) AS path
  ORDER BY skill.version DESC
  WITH coalesce(skill.skill_id, skill.id) AS family, head(collect({memory: skill, score: score, path: path})) AS best
  ORDER BY best.score DESC, family LIMIT 3
  RETURN collect(best) AS skills
}
WITH facts + episodes + skills AS hits
RETURN [hit IN hits | hit.memory.id] AS ids, [hit IN hits | hit.memory.layer] AS layers,
  [hit IN hits | hit.memory.name] AS names, [hit IN hits | hit.memory.content] AS contents,
  [hit IN hits | hit.score] AS scores, [hit IN hits | coalesce(hit.spread, 0.0)] AS spreads,
  [hit IN hits | coalesce(hit.path, [])] AS paths, [hit IN hits | hit.memory.external_id] AS external_ids,
  [hit IN hits | hit.memory.source] AS sources, [hit IN hits | hit.memory.speaker] AS speakers,
  [hit IN hits | head(split(toString(hit.memory.occurred_at), '['))] AS times, [hit IN hits | hit.memory.metadata] AS metadata
