// fluxmem.activate(namespace :: STRING, text :: STRING, embedding = null :: LIST<FLOAT>, topK = 10 :: INTEGER, tags = [] :: LIST<STRING>, seeds = [] :: LIST<MAP>, options = {} :: MAP) :: (id :: STRING, layer :: STRING, name :: STRING, content :: STRING, score :: FLOAT, dense :: FLOAT, sparse :: FLOAT, verified :: FLOAT, spread :: FLOAT, path :: LIST<STRING>, external_id :: STRING, source :: STRING, speaker :: STRING, occurred_at :: ZONED DATETIME, metadata :: STRING)
//
// What memory brings back for an observation: facts by three signals and spreading, and similar episodes.
//
// Candidates come from the vector and the full-text index, are scaled to 0..1 per signal and added; a turn
// inherits from its better neighbour in time; then the best seeds pass score along the names that they share.
// `seeds` (maps of id, score, dense, sparse, verified) replace the candidates: a caller has scored them.
// With a null embedding the words and links answer alone, and dense is null in every row.
// `options`: dense, sparse (weights), candidates, hops (seeds that spread), neighbour, title, entity, speaker,
// named (weights of the links), hub (degree from which an entity is skipped), episodes (how many).
//
// mode: READ
CYPHER 25
MATCH (tenant:Namespace {name: $namespace})
// Words, without possessives and without what Lucene would take for syntax.
WITH tenant, [word IN split(replace(replace(toLower($text), '\'s ', ' '), '’s ', ' '), [' ', '\n', '\t', '\r', '.', ',', ';',
  ':', '!', '?', '"', '“', '”', '„', '«', '»', '(', ')', '[', ']', '{', '}', '<', '>', '+', '-', '–', '—', '&', '|', '^', '~', '*', '/',
  '\\', '=', '#', '@', '%', '$', '_', '…', '、', '。', '，', '？', '！']) WHERE word <> ''][..64] AS words
WITH tenant, words, [word IN words WHERE NOT word IN ['what', 'when', 'where', 'who', 'whom', 'whose', 'which', 'why', 'how', 'did',
  'do', 'does', 'done', 'doing', 'has', 'have', 'had', 'been', 'were', 'being', 'am', 'would', 'could', 'should', 'can',
  'may', 'might', 'he', 'she', 'his', 'her', 'him', 'them', 'you', 'your', 'i', 'me', 'my', 'we', 'our', 'us', 'from',
  'about', 'after', 'before', 'during', 'than', 'so', 'its']] AS telling
WITH tenant, words, reduce(line = '', word IN CASE telling WHEN [] THEN words ELSE telling END | line + ' ' + word) AS terms,
  reduce(line = ' ', word IN words | line + word + ' ') AS line
WITH words, line, CASE terms WHEN '' THEN 'namespace_key:none' ELSE '+namespace_key:' + tenant.key
  + '^0 +layer:semantic^0 +status:active^0 +(text:(' + terms + ') context:(' + terms + ')^0.3)' END AS query
CALL (query) {
  WITH query WHERE size($seeds) = 0 AND size($tags) = 0 AND $embedding IS NOT NULL
  MATCH (memory:Memory)
    SEARCH memory IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE memory.namespace = $namespace AND memory.layer = 'semantic' AND memory.status = 'active'
      LIMIT 100
    ) SCORE AS score
  RETURN memory, 2 * score - 1 AS cosine, null AS lucene
  UNION ALL
  WITH query WHERE size($seeds) = 0
  CALL db.index.fulltext.queryNodes('memory_text', query, {limit: 100}) YIELD node, score
  WITH node, score WHERE all(tag IN $tags WHERE tag IN node.tags)
  RETURN node AS memory, null AS cosine, score AS lucene
  UNION ALL
  WITH query WHERE size($seeds) = 0 AND size($tags) > 0 AND $embedding IS NOT NULL
  MATCH (memory:Semantic)
  WHERE memory.namespace = $namespace AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
  WITH memory, 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 AS cosine
  ORDER BY cosine DESC LIMIT 100
  RETURN memory, cosine, null AS lucene
}
WITH words, line, memory, max(cosine) AS cosine, coalesce(max(lucene), 0.0) AS lucene
WITH words, line, memory, lucene, CASE WHEN cosine IS NULL AND $embedding IS NOT NULL AND memory.embedding IS NOT NULL
  THEN 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 ELSE cosine END AS cosine
WITH words, line, collect({memory: memory, cosine: cosine, lucene: lucene}) AS pool, min(cosine) AS lowest,
  max(cosine) - min(cosine) AS width, min(lucene) AS least, max(lucene) - min(lucene) AS breadth
// A signal whose scores are all equal ranks nothing, and its weight goes to the other.
WITH words, line, pool, lowest, least, width, breadth,
  CASE WHEN width > 0 THEN coalesce($options.dense, 1.0) ELSE 0.0 END AS denseWeight,
  CASE WHEN breadth > 0 THEN coalesce($options.sparse, 1.0) ELSE 0.0 END AS sparseWeight
CALL (pool, line, lowest, least, width, breadth, denseWeight, sparseWeight) {
  UNWIND pool AS entry
  WITH entry.memory AS memory, line, denseWeight, sparseWeight,
    CASE WHEN denseWeight > 0 THEN coalesce((entry.cosine - lowest) / width, 0.0) END AS dense,
    CASE WHEN sparseWeight > 0 THEN (entry.lucene - least) / breadth END AS sparse
  RETURN memory, dense, sparse, null AS verified,
    CASE WHEN denseWeight + sparseWeight > 0
      THEN (denseWeight * coalesce(dense, 0) + sparseWeight * coalesce(sparse, 0)) / (denseWeight + sparseWeight)
      ELSE 1.0 END
    + CASE WHEN memory.speaker IS NOT NULL AND line CONTAINS (' ' + toLower(memory.speaker) + ' ')
      THEN coalesce($options.speaker, 0.3) ELSE 0.0 END AS score
  UNION ALL
  UNWIND $seeds AS seed
  MATCH (memory:Memory {namespace: $namespace, id: seed.id})
  RETURN memory, seed.dense AS dense, seed.sparse AS sparse, seed.verified AS verified, seed.score AS score
}
WITH words, line, collect({memory: memory, dense: dense, sparse: sparse, verified: verified, score: score}) AS scored
// Passages whose title the observation names: the longest run of words wins.
CALL (words) {
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
  RETURN collect({memory: memory, name: entity.name})[..20] AS named
}
CALL (scored, named) {
  UNWIND scored AS entry
  RETURN entry.memory AS memory, entry AS signals, entry.score AS own, 0.0 AS gain, null AS path
  UNION ALL
  UNWIND scored AS entry
  WITH entry.memory AS seed, entry.score AS score
  MATCH (seed)-[:NEXT]-(memory:Memory)
  WHERE memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
  RETURN memory, null AS signals, 0.0 AS own, coalesce($options.neighbour, 0.4) * score AS gain,
    'next to ' + seed.id AS path
  UNION ALL
  UNWIND named AS entry
  RETURN entry.memory AS memory, null AS signals, coalesce($options.named, 0.4) AS own, 0.0 AS gain,
    'named: ' + entry.name AS path
}
WITH memory, head(collect(signals)) AS signals, sum(own) AS own, max(gain) AS gain, collect(path) AS path
WITH memory, signals, own + gain AS score, gain, path
ORDER BY score DESC, memory.id
WITH collect({memory: memory, signals: signals, score: score, gain: gain, path: path}) AS reached
// The best pass score on along shared names and learned links; a hub's share is small, and a crowd's nothing.
CALL (reached) {
  UNWIND reached AS entry
  RETURN entry.memory AS memory, entry.signals AS signals, entry.score AS own, entry.gain AS near, 0.0 AS gain,
    entry.path AS path
  UNION ALL
  UNWIND reached[..10] AS entry
  WITH entry.memory AS seed, entry.score AS score
  MATCH (seed)-[link:MENTIONS|ABOUT]->(entity:Entity)
  WITH seed, score, link, entity, COUNT { (entity)<-[:MENTIONS|ABOUT]-() } AS degree
  WHERE degree > 1 AND degree <= coalesce($options.hub, 200)
  MATCH (entity)<-[back:MENTIONS|ABOUT]-(memory:Memory)
  WHERE memory <> seed AND memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
  RETURN memory, null AS signals, 0.0 AS own, 0.0 AS near,
    CASE WHEN back:ABOUT AND link:MENTIONS THEN coalesce($options.title, 0.7)
      ELSE coalesce($options.entity, 0.4) END * score * log(3) / log(1 + degree) AS gain,
    [seed.id + ' → ' + entity.name] AS path
  UNION ALL
  UNWIND reached[..10] AS entry
  WITH entry.memory AS seed, entry.score AS score
  MATCH (seed)-[link:ASSOCIATED]-(memory:Memory:Semantic)
  WHERE memory.status = 'active' AND all(tag IN $tags WHERE tag IN memory.tags)
  RETURN memory, null AS signals, 0.0 AS own, 0.0 AS near, link.weight * score AS gain,
    [seed.id + ' → associated'] AS path
}
WITH memory, head(collect(signals)) AS signals, max(own) AS own, max(near) AS near, max(gain) AS gain, collect({gain: gain, path: path}) AS ways
WITH memory, signals, own, near, gain, reduce(path = [], way IN [w IN ways WHERE w.gain = 0 OR w.gain = gain] | path + way.path) AS path,
  own + gain AS score
ORDER BY score DESC, memory.id
LIMIT $topK
RETURN memory.id AS id, memory.layer AS layer, memory.name AS name, memory.content AS content, score,
  signals.dense AS dense, signals.sparse AS sparse, signals.verified AS verified, near + gain AS spread, path,
  memory.external_id AS external_id, memory.source AS source, memory.speaker AS speaker,
  memory.occurred_at AS occurred_at, memory.metadata AS metadata
