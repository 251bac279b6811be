// fluxmem.candidates(namespace :: STRING, text :: STRING, embedding = null :: LIST<FLOAT>, tags = [] :: LIST<STRING>) :: (ids :: LIST<STRING>, cosines :: LIST<FLOAT>, texts :: LIST<STRING>, speakers :: LIST<STRING>, sessions :: LIST<STRING>, named :: LIST<STRING>, before :: LIST<LIST<STRING>>)
//
// The pool of facts that an observation may be about: nearest by vector, best by words, named by title.
//
// What `fluxmem.activate` starts from, for callers that score the texts themselves and then spread.
// One row of columns, since a row costs the server as much as a hundred values. Absent speakers, sessions and names
// are empty; cosines are empty without an embedding. `before` holds the ids of the two memories before each in time.
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
WITH tenant, words, marked, [term IN marked WHERE NOT term IN coalesce(tenant.speakers, [])
  AND NOT term IN ['a', 'an', 'and', 'are', 'as', 'at', 'be', 'but', 'by', 'for', 'if', 'in', 'into', 'is', 'it', 'no', 'not',
  'of', 'on', 'or', 'such', 'that', 'the', 'their', 'then', 'there', 'these', 'they', 'this', 'to', 'was', 'will', 'with',
  'what', 'when', 'where', 'who', 'whom', 'whose', 'which', 'why', 'how', 'did',
  'do', 'does', 'done', 'doing', 'has', 'have', 'had', 'been', 'were', 'being', 'am', 'would', 'could', 'should', 'can',
  'may', 'might', 'he', 'she', 'his', 'her', 'him', 'them', 'you', 'your', 'i', 'me', 'my', 'we', 'our', 'us', 'from',
  'about', 'after', 'before', 'during', 'than', 'so', 'its']] AS telling
WITH tenant, words,
  reduce(line = '', term IN CASE telling WHEN [] THEN marked ELSE telling END | line + ' ' + replace(term, ':', '\\:')) AS terms
WITH words, CASE terms WHEN '' THEN 'namespace_key:none' ELSE '+namespace_key:' + tenant.key
  + '^0 +layer:semantic^0 +status:active^0 +text:(' + terms + ')' END AS query
CALL (words, query) {
  CALL (words, query) {
    WITH * WHERE size($tags) = 0 AND $embedding IS NOT NULL
    MATCH (memory:Memory)
      SEARCH memory IN (
        VECTOR INDEX memory_embedding FOR $embedding
        WHERE memory.namespace = $namespace AND memory.layer = 'semantic' AND memory.status = 'active'
        LIMIT 70
      ) SCORE AS score
    RETURN memory, 2 * score - 1 AS cosine, null AS lucene, null AS named
    UNION ALL
    WITH *
    CALL db.index.fulltext.queryNodes('memory_text', query, {limit: CASE size($tags) WHEN 0 THEN 70 ELSE 10000 END})
      YIELD node, score
    WITH node, score WHERE all(tag IN $tags WHERE tag IN node.tags)
    WITH node, score LIMIT 70
    RETURN node AS memory, null AS cosine, score AS lucene, null AS named
    UNION ALL
    // A filter by tags reads the tenant's memories instead: the nearest ones may hold none that match.
    WITH * WHERE size($tags) > 0 AND $embedding IS NOT NULL
    MATCH (memory:Memory)
    WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.layer = 'semantic'
      AND memory.status = 'active' AND memory.embedding IS NOT NULL
      AND all(tag IN $tags WHERE tag IN memory.tags)
    WITH memory, 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 AS cosine
    ORDER BY cosine DESC LIMIT 70
    RETURN memory, cosine, null AS lucene, null AS named
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
    RETURN memory, null AS cosine, null AS lucene, entity.name AS named
  }
  WITH memory, max(cosine) AS cosine, coalesce(max(lucene), 0.0) AS lucene, max(named) AS named
  WITH memory, lucene, named, CASE
    WHEN cosine IS NULL AND $embedding IS NOT NULL AND memory.embedding IS NOT NULL
    THEN 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 ELSE cosine END AS cosine
  RETURN memory, cosine, named
}
ORDER BY cosine DESC, memory.id
RETURN collect(memory.id) AS ids, collect(cosine) AS cosines, collect(memory.text) AS texts,
  collect(coalesce(memory.speaker, '')) AS speakers,
  collect(CASE WHEN memory.session IS NULL THEN '' ELSE coalesce(memory.source, '') + '\n' + memory.session END) AS sessions,
  collect(coalesce(named, '')) AS named,
  collect(COLLECT { MATCH (memory)<-[:NEXT*1..2]-(earlier:Memory) RETURN earlier.id }) AS before
