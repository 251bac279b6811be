// fluxmem.activate(namespace :: STRING, text :: STRING, embedding = null :: LIST<FLOAT>, topK = 10 :: INTEGER, tags = [] :: LIST<STRING>, options = {} :: MAP) :: (id :: STRING, layer :: STRING, name :: STRING, content :: STRING, score :: FLOAT, dense :: FLOAT, sparse :: FLOAT, verified :: FLOAT, spread :: FLOAT, path :: LIST<STRING>, external_id :: STRING, source :: STRING, speaker :: STRING, occurred_at :: ZONED DATETIME, metadata :: STRING)
//
// What memory brings back for an observation: facts, then similar episodes, then the skills made from those.
//
// Candidates come from the vector and the full-text index, are scaled to 0..1 per signal and averaged; a turn
// inherits from its neighbours in time and from its session, and gains when its speaker or title is named; then
// the best ten pass score along the names that they share and along learned links, each memory taking its best
// offer; similar episodes raise or lower the facts that supported them.
// With a null embedding words and links answer alone, and `dense` is null in every row.
// `options` overrides the weights: dense, sparse, neighbour, session, speaker, named, title, entity, associated,
// support, topic; same and related (similarity of an episode from which its links count), half_life_days (of
// tentative links), hub (the degree above which an entity is skipped), episodes (how many come back), settled (cosine
// from which a skill that has settled comes without them) and candidates (true: skills that wait for review, too).
//
// mode: READ
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
// Terms, without possessives and without Lucene's syntax; what it keeps in one word, such as a:b, stays whole.
WITH tenant, [term IN split(replace(replace(toLower($text), '\'s ', ' '), '’s ', ' '), [' ', '\n', '\t', '\r', ';', '!',
  '?', '"', '“', '”', '„', '«', '»', '(', ')', '[', ']', '{', '}', '<', '>', '+', '-', '–', '—', '&', '|', '^', '~', '*', '/',
  '\\', '=', '#', '@', '%', '$', '…', '、', '。', '，', '？', '！']) WHERE term <> ''][..64] AS marked
WITH tenant, marked, [word IN split(reduce(line = '', term IN marked | line + ' ' + term), [' ', '.', ',', ':', '_'])
  WHERE word <> ''] AS words
WITH tenant, words, marked + [word IN words WHERE NOT word IN marked] AS marked
// Words that ask and names of speakers tell turns apart badly.
WITH tenant, words, marked, coalesce(tenant.speakers, []) AS voices, ['a', 'an', 'and', 'are', 'as', 'at', 'be', 'but', 'by',
  'for', 'if', 'in', 'into', 'is', 'it', 'no', 'not',
  'of', 'on', 'or', 'such', 'that', 'the', 'their', 'then', 'there', 'these', 'they', 'this', 'to', 'was', 'will', 'with',
  'what', 'when', 'where', 'who', 'whom', 'whose', 'which', 'why', 'how', 'did',
  'do', 'does', 'done', 'doing', 'has', 'have', 'had', 'been', 'were', 'being', 'am', 'would', 'could', 'should', 'can',
  'may', 'might', 'he', 'she', 'his', 'her', 'him', 'them', 'you', 'your', 'i', 'me', 'my', 'we', 'our', 'us', 'from',
  'about', 'after', 'before', 'during', 'than', 'so', 'its'] AS idle
WITH tenant, words, marked, voices, [term IN marked WHERE NOT term IN voices AND NOT term IN idle] AS telling,
  reduce(seen = [], word IN words | CASE WHEN word IN seen OR word IN voices OR word IN idle THEN seen ELSE seen + word END)
    AS meaning
WITH tenant, words, voices, meaning,
  reduce(line = '', term IN CASE telling WHEN [] THEN marked ELSE telling END | line + ' ' + replace(term, ':', '\\:')) AS terms,
  reduce(line = ' ', word IN words | line + word + ' ') AS line
WITH words, line, voices, meaning, CASE terms WHEN '' THEN 'namespace_key:none' ELSE '+namespace_key:' + tenant.key
  + '^0 +layer:semantic^0 +status:active^0 +text:(' + terms + ')' END AS query
CALL (voices, meaning) {
  // Where there are no episodes: an index query that finds nothing takes as long as another.
  UNWIND CASE WHEN $embedding IS NOT NULL
    AND EXISTS { MATCH (run:Episodic) WHERE run.namespace = $namespace AND run.id IS NOT NULL }
    THEN [true] ELSE [] END AS any
  MATCH (episode:Memory)
    SEARCH episode IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE episode.namespace = $namespace AND episode.layer = 'episodic' AND episode.status = 'active'
      LIMIT 20
    ) SCORE AS score
  WITH episode, 2 * score - 1 AS cosine, [word IN coalesce(episode.words, []) WHERE NOT word IN voices] AS theirs
  WITH episode, cosine, theirs, size([word IN theirs WHERE word IN meaning]) AS common
  // Vectors alone take two questions about one thing for the same question.
  WITH episode, CASE WHEN size(theirs) = 0 OR size(meaning) = 0 THEN cosine
    ELSE (2 * cosine + toFloat(common) / (size(theirs) + size(meaning) - common)) / 3 END AS similarity
  ORDER BY similarity DESC, episode.id
  RETURN collect({memory: episode, score: similarity}) AS similar
}
CALL () {
  // A skill that has settled needs no episode that reminds of it.
  UNWIND CASE WHEN $embedding IS NOT NULL
    AND EXISTS { MATCH (known:Procedural) WHERE known.namespace = $namespace AND known.settled = true }
    THEN [true] ELSE [] END AS any
  MATCH (skill:Memory)
    SEARCH skill IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE skill.namespace = $namespace AND skill.layer = 'procedural' AND skill.status = 'active'
      LIMIT 10
    ) SCORE AS score
  WITH skill, 2 * score - 1 AS cosine
  WHERE skill.settled AND cosine >= coalesce($options.settled, 0.5)
  RETURN collect({memory: skill, score: cosine}) AS settled
}
CALL (similar) {
  CALL (similar) {
    // What supported the same task before: the posterior's distance from its prior, 1 after one success.
    UNWIND similar AS entry
    WITH entry.memory AS episode, (entry.score - coalesce($options.same, 0.75)) / (1 - coalesce($options.same, 0.75)) AS closeness
    WHERE closeness > 0
    MATCH (memory:Memory)-[link:SUPPORTS]->(episode)
    RETURN memory, coalesce($options.support, 2.0) * closeness * 6 * (link.weight - 0.5) AS support, 0.0 AS topic,
      CASE WHEN link.weight < 0.5 THEN 'failed ' ELSE 'supported ' END + episode.id AS way
    UNION ALL
    // What a related task was found to be about; tentative links fade, and are never deleted by time.
    UNWIND similar AS entry
    WITH entry.memory AS episode, (entry.score - coalesce($options.related, 0.25)) / (1 - coalesce($options.related, 0.25)) AS closeness
    WHERE closeness > 0
    MATCH (memory:Memory)-[link:ASSOCIATED]->(episode)
    RETURN memory, 0.0 AS support, coalesce($options.topic, 1.2) * closeness * 6 * (link.weight - 0.5) * CASE WHEN link.tentative
      THEN 0.5 ^ (duration.inDays(link.updated_at, datetime()).days / coalesce($options.half_life_days, 90.0)) ELSE 1.0 END AS topic,
      'associated with ' + episode.id AS way
  }
  WITH memory, max(CASE WHEN support > 0 THEN support ELSE 0.0 END) + min(CASE WHEN support < 0 THEN support ELSE 0.0 END)
    + max(topic) AS learned, collect(way) AS ways
  WHERE learned <> 0 AND memory.layer = 'semantic' AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
  RETURN collect({memory: memory, learned: learned, ways: ways[..3]}) AS taught
}
CALL (words, query, taught) {
  CALL (words, query, taught) {
    WITH * WHERE size($tags) = 0 AND $embedding IS NOT NULL
    MATCH (memory:Memory)
      SEARCH memory IN (
        VECTOR INDEX memory_embedding FOR $embedding
        WHERE memory.namespace = $namespace AND memory.layer = 'semantic' AND memory.status = 'active'
        LIMIT 70
      ) SCORE AS score
    RETURN memory, 2 * score - 1 AS cosine, null AS lucene, null AS named, 0.0 AS learned, [] AS ways
    UNION ALL
    WITH *
    CALL db.index.fulltext.queryNodes('memory_text', query, {limit: CASE size($tags) WHEN 0 THEN 70 ELSE 10000 END})
      YIELD node, score
    WITH node, score WHERE all(tag IN $tags WHERE tag IN node.tags)
    WITH node, score LIMIT 70
    RETURN node AS memory, null AS cosine, score AS lucene, null AS named, 0.0 AS learned, [] AS ways
    UNION ALL
    // A filter by tags reads the tenant's memories instead: the nearest ones may hold none that match.
    // UNWIND, since the planner would move a WHERE behind the scan.
    UNWIND CASE WHEN size($tags) > 0 AND $embedding IS NOT NULL THEN [true] ELSE [] END AS filtered
    MATCH (memory:Memory)
    WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.layer = 'semantic'
      AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    // Asking whether there is a vector would read it once more.
    WITH memory, 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 AS cosine
    WHERE cosine IS NOT NULL
    ORDER BY cosine DESC LIMIT 70
    RETURN memory, cosine, null AS lucene, null AS named, 0.0 AS learned, [] AS ways
    UNION ALL
    // Passages whose title the observation names: the longest run of words wins.
    UNWIND range(0, size(words) - 1) AS start
    UNWIND range(start + 1, CASE WHEN start + 6 < size(words) THEN start + 6 ELSE size(words) END) AS end
    WITH DISTINCT reduce(gram = words[start], word IN words[start + 1..end] | gram + ' ' + word) AS gram
    MATCH (entity:Entity {namespace: $namespace, key: gram})
    WHERE EXISTS { (entity)<-[:ABOUT]-() }
    WITH collect(entity) AS entities
    UNWIND entities AS entity
    WITH entities, entity
    WHERE none(other IN entities WHERE other <> entity AND (' ' + other.key + ' ') CONTAINS (' ' + entity.key + ' '))
    MATCH (entity)<-[:ABOUT]-(memory:Memory)
    WHERE memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH memory, entity LIMIT 20
    RETURN memory, null AS cosine, null AS lucene, entity.name AS named, 0.0 AS learned, [] AS ways
    UNION ALL
    UNWIND taught AS entry
    RETURN entry.memory AS memory, null AS cosine, null AS lucene, null AS named, entry.learned AS learned, entry.ways AS ways
  }
  // Of what learning alone brings, only the place in time, the speaker and the lesson count.
  WITH memory, max(cosine) AS cosine, count(coalesce(lucene, named, cosine)) > 0 AS found, max(lucene) AS lucene,
    max(named) AS named, sum(learned) AS learned, reduce(all = [], part IN collect(ways) | all + part) AS ways
  WITH memory, memory.id AS id, cosine, found, lucene, named, learned, ways
  ORDER BY found DESC, learned DESC, id LIMIT 160
  WITH memory, id, named, learned, ways, CASE WHEN found THEN coalesce(lucene, 0.0) END AS lucene, CASE
    WHEN found AND cosine IS NULL AND $embedding IS NOT NULL
    THEN 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 ELSE cosine END AS cosine
  RETURN collect({memory: memory, id: id, cosine: cosine, lucene: lucene, named: named, learned: learned, ways: ways}) AS pool,
    min(cosine) AS lowest, max(cosine) - min(cosine) AS width, min(lucene) AS least, max(lucene) - min(lucene) AS breadth
}
// A signal whose scores are all equal ranks nothing, and its weight goes to the other.
WITH line, pool, similar, settled, lowest, least, width, breadth,
  CASE WHEN width > 0 THEN coalesce($options.dense, 1.0) ELSE 0.0 END AS denseWeight,
  CASE WHEN breadth > 0 THEN coalesce($options.sparse, 1.0) ELSE 0.0 END AS sparseWeight
CALL (pool, lowest, least, width, breadth, denseWeight, sparseWeight) {
  UNWIND pool AS entry
  WITH entry, entry.memory AS memory, denseWeight, sparseWeight,
    CASE WHEN denseWeight > 0 THEN coalesce((entry.cosine - lowest) / width, 0.0) END AS dense,
    CASE WHEN sparseWeight > 0 THEN coalesce((entry.lucene - least) / breadth, 0.0) END AS sparse
  WITH entry, memory, dense, sparse, CASE WHEN denseWeight + sparseWeight > 0
    THEN (denseWeight * coalesce(dense, 0) + sparseWeight * coalesce(sparse, 0)) / (denseWeight + sparseWeight)
    ELSE 1.0 END AS score
  // A session is as close as its best turn is.
  WITH memory.source AS source, memory.session AS session, max(score) AS best,
    collect({entry: entry, dense: dense, sparse: sparse, score: score}) AS turns
  UNWIND turns AS turn
  RETURN collect({entry: turn.entry, dense: turn.dense, sparse: turn.sparse, score: turn.score,
    session: CASE WHEN session IS NULL THEN 0.0 ELSE best END}) AS scored
}
CALL (scored, line) {
  CALL (scored) {
    UNWIND scored AS turn
    RETURN turn.entry.memory AS memory, turn AS base, 0.0 AS near, 0.0 AS nearby
    UNION ALL
    UNWIND scored AS turn
    WITH turn.entry.memory AS seed, turn.score AS score
    MATCH (seed)-[hops:NEXT*1..2]-(memory:Memory)
    RETURN memory, null AS base, CASE size(hops) WHEN 1 THEN score ELSE 0.0 END AS near,
      CASE size(hops) WHEN 2 THEN score ELSE 0.0 END AS nearby
  }
  WITH line, memory, head(collect(base)) AS base, max(near) AS near, max(nearby) AS nearby
  WHERE base IS NOT NULL
  WITH memory, base, base.entry AS entry, near + nearby > 0 AS close, coalesce($options.neighbour, 0.4) * (near + nearby / 2)
    + coalesce($options.session, 0.3) * base.session AS inherited, line CONTAINS (' ' + toLower(memory.speaker) + ' ') AS spoken
  WITH memory, base, entry, close, inherited, spoken, base.score + inherited
    + CASE WHEN spoken THEN coalesce($options.speaker, 0.5) ELSE 0.0 END
    + CASE WHEN entry.named IS NOT NULL THEN coalesce($options.named, 0.5) ELSE 0.0 END + entry.learned AS score, entry.id AS id
  ORDER BY score DESC, id
  RETURN collect({memory: memory, id: id, score: score, dense: base.dense, sparse: base.sparse, inherited: inherited + entry.learned,
    path: CASE WHEN close THEN ['near in time'] ELSE [] END
      + CASE WHEN spoken THEN ['said by ' + memory.speaker] ELSE [] END
      + CASE WHEN entry.named IS NOT NULL THEN ['named ' + entry.named] ELSE [] END + entry.ways}) AS reached
}
// The best pass score on along shared names and learned links; a hub's share is small, and a crowd's nothing.
CALL (reached) {
  CALL (reached) {
    UNWIND reached AS entry
    RETURN entry.memory AS memory, entry AS base, null AS way, 0.0 AS gain
    UNION ALL
    UNWIND reached[..10] AS entry
    WITH entry.memory AS seed, entry.score AS score
    MATCH (seed)-[link:MENTIONS|ABOUT]->(entity:Entity)
    WITH seed, score, link, entity, COUNT { (entity)<-[:MENTIONS|ABOUT]-() } AS degree
    WHERE degree > 1 AND degree <= coalesce($options.hub, 200)
    MATCH (entity)<-[back:MENTIONS|ABOUT]-(memory:Memory)
    WHERE memory <> seed AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    RETURN memory, null AS base, seed.id + ' → ' + entity.name AS way,
      CASE WHEN back:ABOUT AND link:MENTIONS THEN coalesce($options.title, 0.7)
        ELSE coalesce($options.entity, 0.4) END * score * log(3) / log(1 + degree) AS gain
    UNION ALL
    UNWIND reached[..10] AS entry
    WITH entry.memory AS seed, entry.score AS score
    WHERE COUNT { (seed)-[:ASSOCIATED]-() } <= coalesce($options.hub, 200)
    MATCH (seed)-[link:ASSOCIATED]-(memory:Memory)
    WHERE memory.layer = 'semantic' AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH seed, score, link, memory ORDER BY link.weight DESC LIMIT 50
    RETURN memory, null AS base, seed.id + ' → associated' AS way,
      coalesce($options.associated, 0.5) * (2 * link.weight - 1) * score AS gain
  }
  WITH memory, head(collect(base)) AS base, max(gain) AS gain, collect([gain, way]) AS ways
  WITH memory, base, gain, ways, coalesce(base.score, 0.0) + gain AS score
  ORDER BY score DESC, coalesce(base.id, memory.id)
  LIMIT $topK
  RETURN collect({memory: memory, score: score, dense: base.dense, sparse: base.sparse,
    spread: coalesce(base.inherited, 0.0) + gain, path: coalesce(base.path, [])
      + [pair IN ways WHERE pair[0] = gain AND pair[1] IS NOT NULL | pair[1]][..3]}) AS facts
}
WITH facts, settled, [entry IN similar[..coalesce($options.episodes, 3)] | {memory: entry.memory, score: entry.score, dense: entry.score}] AS episodes
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
UNWIND facts + episodes + skills AS hit
WITH hit, hit.memory AS memory
RETURN memory.id AS id, memory.layer AS layer, memory.name AS name, memory.content AS content, hit.score AS score,
  hit.dense AS dense, hit.sparse AS sparse, hit.verified AS verified, hit.spread AS spread,
  coalesce(hit.path, []) AS path, memory.external_id AS external_id, memory.source AS source,
  memory.speaker AS speaker, memory.occurred_at AS occurred_at, memory.metadata AS metadata
