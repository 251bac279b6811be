// fluxmem.spread(namespace :: STRING, ids :: LIST<STRING>, scores :: LIST<FLOAT>, embedding = null :: LIST<FLOAT>, topK = 10 :: INTEGER, tags = [] :: LIST<STRING>, words = [] :: LIST<STRING>, hidden = [] :: LIST<STRING>, options = {} :: MAP) :: (ids :: LIST<STRING>, layers :: LIST<STRING>, names :: LIST<STRING>, contents :: LIST<STRING>, scores :: LIST<FLOAT>, spreads :: LIST<FLOAT>, paths :: LIST<LIST<STRING>>, external_ids :: LIST<STRING>, sources :: LIST<STRING>, speakers :: LIST<STRING>, times :: LIST<ZONED DATETIME>, metadata :: LIST<STRING>)
//
// Where scored facts lead: along shared names, learned links and similar episodes; with those and their skills.
//
// The second half of `fluxmem.activate`, for callers that scored its candidates themselves; best first. One row of
// columns, since a row costs the server as much as a hundred values. `words` are those of the observation that carry
// meaning; `hidden` facts are left out.
//
// mode: READ
CYPHER 25
CALL () {
  UNWIND range(0, size($ids[..10]) - 1) AS place
  MATCH (memory:Memory {namespace: $namespace, id: $ids[place]})
  RETURN collect({memory: memory, score: $scores[place]}) AS reached
}
MATCH (tenant:Namespace {name: $namespace})
WITH reached, coalesce(tenant.speakers, []) AS speakers
WITH reached, speakers, [word IN $words WHERE NOT word IN speakers] AS ours
CALL (speakers, ours) {
  WITH * WHERE $embedding IS NOT NULL
  MATCH (episode:Memory)
    SEARCH episode IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE episode.namespace = $namespace AND episode.layer = 'episodic' AND episode.status = 'active'
      LIMIT 20
    ) SCORE AS score
  WITH episode, 2 * score - 1 AS cosine, [word IN coalesce(episode.words, []) WHERE NOT word IN speakers] AS theirs
  WITH episode, cosine, theirs, size([word IN theirs WHERE word IN ours]) AS common
  // Vectors alone take two questions about one thing for the same question.
  WITH episode, CASE WHEN size(theirs) = 0 OR size(ours) = 0 THEN cosine
    ELSE (2 * cosine + toFloat(common) / (size(theirs) + size(ours) - common)) / 3 END AS similarity
  ORDER BY similarity DESC, episode.id
  RETURN collect({memory: episode, score: similarity}) AS similar
}
CALL (reached, similar) {
  CALL (reached, similar) {
    UNWIND range(0, size($ids) - 1) AS place
    RETURN $ids[place] AS id, $scores[place] AS own, 0.0 AS lift, 0.0 AS topic, null AS way, 0.0 AS gain
    UNION ALL
    UNWIND reached[..10] AS entry
    WITH entry.memory AS seed, entry.score AS score
    MATCH (seed)-[link:MENTIONS|ABOUT]->(entity:Entity)
    WITH seed, score, link, entity, COUNT { (entity)<-[:MENTIONS|ABOUT]-() } AS degree
    WHERE degree > 1 AND degree <= coalesce($options.hub, 200)
    MATCH (entity)<-[back:MENTIONS|ABOUT]-(memory:Memory)
    WHERE memory <> seed AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    RETURN memory.id AS id, 0.0 AS own, 0.0 AS lift, 0.0 AS topic, seed.id + ' → ' + entity.name AS way,
      CASE WHEN back:ABOUT AND link:MENTIONS THEN coalesce($options.title, 0.7)
        ELSE coalesce($options.entity, 0.4) END * score * log(3) / log(1 + degree) AS gain
    UNION ALL
    UNWIND reached[..10] AS entry
    WITH entry.memory AS seed, entry.score AS score
    MATCH (seed)-[link:ASSOCIATED]-(memory:Memory)
    WHERE memory.layer = 'semantic' AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH seed, score, link, memory ORDER BY link.weight DESC LIMIT 50
    RETURN memory.id AS id, 0.0 AS own, 0.0 AS lift, 0.0 AS topic, seed.id + ' → associated' AS way,
      coalesce($options.associated, 0.5) * (2 * link.weight - 1) * score AS gain
    UNION ALL
    // What supported the same task before; the posterior's distance from its prior, 1 after one success.
    UNWIND similar AS entry
    WITH entry.memory AS episode, (entry.score - coalesce($options.same, 0.75)) / (1 - coalesce($options.same, 0.75)) AS closeness
    WHERE closeness > 0
    MATCH (memory:Memory)-[link:SUPPORTS]->(episode)
    WHERE memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH episode, memory, coalesce($options.support, 2.0) * closeness * 6 * (link.weight - 0.5) AS lift
    ORDER BY abs(lift) DESC LIMIT 500
    RETURN memory.id AS id, 0.0 AS own, lift, 0.0 AS topic, 'supported ' + episode.id AS way, 0.0 AS gain
    UNION ALL
    // What a related task was found to be about; tentative links fade, and are never deleted by time.
    UNWIND similar AS entry
    WITH entry.memory AS episode, (entry.score - coalesce($options.related, 0.25)) / (1 - coalesce($options.related, 0.25)) AS closeness
    WHERE closeness > 0
    MATCH (memory:Memory)-[link:ASSOCIATED]->(episode)
    WHERE memory.layer = 'semantic' AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH episode, memory, coalesce($options.topic, 1.2) * closeness * 6 * (link.weight - 0.5) * CASE WHEN link.tentative
      THEN 0.5 ^ (duration.inDays(link.updated_at, datetime()).days / coalesce($options.half_life_days, 90.0)) ELSE 1.0 END AS topic
    ORDER BY abs(topic) DESC LIMIT 500
    RETURN memory.id AS id, 0.0 AS own, 0.0 AS lift, topic, 'associated with ' + episode.id AS way, 0.0 AS gain
  }
  WITH id, sum(own) AS own, max(CASE WHEN lift > 0 THEN lift ELSE 0.0 END) + min(CASE WHEN lift < 0 THEN lift ELSE 0.0 END) + max(topic) AS learned,
    max(gain) AS gain, collect([gain, lift + topic, way]) AS ways
  WHERE NOT id IN $hidden
  WITH id, own + gain + learned AS score, gain + learned AS spread, ways, gain
  ORDER BY score DESC, id
  LIMIT $topK
  MATCH (memory:Memory {namespace: $namespace, id: id})
  WITH memory, score, spread, ways, gain ORDER BY score DESC, memory.id
  RETURN collect({memory: memory, score: score, spread: spread,
    path: [part IN ways WHERE part[2] IS NOT NULL AND (part[1] <> 0 OR part[0] = gain) | part[2]][..3]}) AS facts
}
WITH facts, similar[..coalesce($options.episodes, 3)] AS episodes
CALL (episodes) {
  UNWIND episodes AS entry
  WITH entry.memory AS episode, entry.score AS similarity
  MATCH (episode)-[:DISTILLED_INTO]->(skill:Memory)
  WHERE skill.status = 'active' AND skill.review = 'approved'
  WITH skill, max(similarity * coalesce(skill.pems, 0.0)) AS score, collect('distilled from ' + episode.id) AS path
  ORDER BY score DESC, skill.id LIMIT 3
  RETURN collect({memory: skill, score: score, path: path}) AS skills
}
WITH facts + episodes + skills AS hits
RETURN [hit IN hits | hit.memory.id] AS ids, [hit IN hits | hit.memory.layer] AS layers,
  [hit IN hits | hit.memory.name] AS names, [hit IN hits | hit.memory.content] AS contents,
  [hit IN hits | hit.score] AS scores, [hit IN hits | coalesce(hit.spread, 0.0)] AS spreads,
  [hit IN hits | coalesce(hit.path, [])] AS paths, [hit IN hits | hit.memory.external_id] AS external_ids,
  [hit IN hits | hit.memory.source] AS sources, [hit IN hits | hit.memory.speaker] AS speakers,
  [hit IN hits | hit.memory.occurred_at] AS times, [hit IN hits | hit.memory.metadata] AS metadata
