// fluxmem.candidates(namespace :: STRING, text :: STRING, embedding = null :: LIST<FLOAT>, tags = [] :: LIST<STRING>, options = {} :: MAP) :: (ids :: LIST<STRING>, cosines :: LIST<FLOAT>, texts :: LIST<STRING>, speakers :: LIST<STRING>, sessions :: LIST<STRING>, named :: LIST<STRING>, before :: LIST<LIST<STRING>>, learned :: LIST<FLOAT>, ways :: LIST<LIST<STRING>>, episodes :: LIST<MAP>, skills :: LIST<MAP>)
//
// The pool of facts that an observation may be about: nearest by vector, best by words, named by title, learned.
//
// What `fluxmem.activate` starts from, for callers that score the texts themselves and then spread.
// One row of columns, since a row costs the server as much as a hundred values. Absent speakers, sessions and names
// are empty; cosines are null without an embedding, and for facts that only similar episodes bring. `before` holds
// the ids of the two memories before each in time, `learned` what episodes add to its score and `ways` which ones.
// `options`: support, topic, same, related, half_life_days and settled, as in `fluxmem.activate`.
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
  reduce(line = '', term IN CASE telling WHEN [] THEN marked ELSE telling END | line + ' ' + replace(term, ':', '\\:')) AS terms
WITH words, voices, meaning, CASE terms WHEN '' THEN 'namespace_key:none' ELSE '+namespace_key:' + tenant.key
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
  WITH memory, max(cosine) AS cosine, count(coalesce(lucene, named, cosine)) > 0 AS found, max(named) AS named,
    sum(learned) AS learned, reduce(all = [], part IN collect(ways) | all + part) AS ways
  WITH memory, memory.id AS id, cosine, found, named, learned, ways
  ORDER BY found DESC, learned DESC, id LIMIT 160
  WITH memory, id, named, learned, ways, found, CASE
    WHEN found AND cosine IS NULL AND $embedding IS NOT NULL
    THEN 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 ELSE cosine END AS cosine
  ORDER BY cosine DESC, id
  RETURN collect(id) AS ids, collect({cosine: cosine}) AS scored,
    collect(CASE WHEN found THEN memory.text ELSE '' END) AS texts, collect(coalesce(memory.speaker, '')) AS speakers,
    collect(CASE WHEN memory.session IS NULL THEN '' ELSE coalesce(memory.source, '') + '\n' + memory.session END) AS sessions,
    collect(coalesce(named, '')) AS named,
    collect(COLLECT { MATCH (memory)<-[:NEXT*1..2]-(earlier:Memory) RETURN earlier.id }) AS before,
    collect(learned) AS learned, collect(ways) AS ways
}
RETURN ids, [entry IN scored | entry.cosine] AS cosines, texts, speakers, sessions, named, before, learned, ways,
  [entry IN similar | {id: entry.memory.id, similarity: entry.score}] AS episodes,
  [entry IN settled | {id: entry.memory.id, similarity: entry.score}] AS skills
