// fluxmem.candidates(namespace :: STRING, text :: STRING, embedding = null :: LIST<FLOAT>, tags = [] :: LIST<STRING>) :: (ids :: LIST<STRING>, cosines :: LIST<FLOAT>, texts :: LIST<STRING>, contexts :: LIST<STRING>, speakers :: LIST<STRING>)
//
// The pool of facts that an observation may be about: nearest by vector, best by words.
//
// One row of columns, since a row costs the server as much as a hundred values. Absent contexts and speakers are
// empty; cosines are empty without an embedding.
// What `fluxmem.activate` starts from, for callers that score the texts themselves and pass them as its seeds.
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
WITH tenant, reduce(line = '', word IN CASE telling WHEN [] THEN words ELSE telling END | line + ' ' + word) AS terms
WITH CASE terms WHEN '' THEN 'namespace_key:none' ELSE '+namespace_key:' + tenant.key
  + '^0 +layer:semantic^0 +status:active^0 +(text:(' + terms + ') context:(' + terms + ')^0.5)' END AS query
CALL (query) {
  WITH query WHERE size($tags) = 0 AND $embedding IS NOT NULL
  MATCH (memory:Memory)
    SEARCH memory IN (
      VECTOR INDEX memory_embedding FOR $embedding
      WHERE memory.namespace = $namespace AND memory.layer = 'semantic' AND memory.status = 'active'
      LIMIT 70
    ) SCORE AS score
  RETURN memory, 2 * score - 1 AS cosine, null AS lucene
  UNION ALL
  CALL db.index.fulltext.queryNodes('memory_text', query, {limit: 70}) YIELD node, score
  WITH node, score WHERE all(tag IN $tags WHERE tag IN node.tags)
  RETURN node AS memory, null AS cosine, score AS lucene
  UNION ALL
  // A filter by tags reads the tenant's memories instead: the nearest hundred may hold none that match.
  WITH query WHERE size($tags) > 0 AND $embedding IS NOT NULL
  MATCH (memory:Memory)
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.layer = 'semantic'
    AND memory.status = 'active' AND memory.embedding IS NOT NULL
    AND all(tag IN $tags WHERE tag IN memory.tags)
  WITH memory, 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 AS cosine
  ORDER BY cosine DESC LIMIT 70
  RETURN memory, cosine, null AS lucene
}
WITH memory, max(cosine) AS cosine, coalesce(max(lucene), 0.0) AS lucene
WITH memory, lucene, CASE WHEN cosine IS NULL AND $embedding IS NOT NULL AND memory.embedding IS NOT NULL
  THEN 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 ELSE cosine END AS cosine
ORDER BY cosine DESC, memory.id
RETURN collect(memory.id) AS ids, collect(cosine) AS cosines, collect(memory.text) AS texts,
  collect(coalesce(memory.context, '')) AS contexts, collect(coalesce(memory.speaker, '')) AS speakers
