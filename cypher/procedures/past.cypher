// fluxmem.past(namespace :: STRING, moment :: ZONED DATETIME, words :: LIST<STRING>, embedding = null :: LIST<FLOAT>, tags = [] :: LIST<STRING>, top = 100 :: INTEGER) :: (id :: STRING, layer :: STRING, version :: INTEGER, name :: STRING, content :: STRING, text :: STRING, cosine :: FLOAT, found :: INTEGER, external_id :: STRING, source :: STRING, speaker :: STRING, occurred_at :: ZONED DATETIME, metadata :: STRING)
//
// What was retrievable at a moment, with the contents of then: nearest to an embedding, or holding the words.
//
// It reads the namespace one memory after another, since the indexes know only what is there now: milliseconds for a
// thousand memories. `words` are in lower case; `found` says how many of them a text holds. `moment` is recorded time.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory)
WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.recorded_from <= $moment
  AND (memory.recorded_to IS NULL OR memory.recorded_to > $moment)
  AND none(place IN range(0, size(coalesce(memory.gaps, [])) - 2, 2)
    WHERE memory.gaps[place] <= $moment AND $moment < memory.gaps[place + 1])
  AND memory.status <> 'candidate' AND (memory.layer <> 'episodic' OR memory.ended_at <= $moment)
  AND all(tag IN $tags WHERE tag IN memory.tags)
WITH memory, 2 * vector.similarity.cosine(memory.embedding, $embedding) - 1 AS cosine,
  size([word IN $words WHERE toLower(coalesce(memory.text, memory.content)) CONTAINS word]) AS found
ORDER BY coalesce(cosine, 0.0) + CASE size($words) WHEN 0 THEN 0.0 ELSE toFloat(found) / size($words) END DESC, memory.id
WITH memory, cosine, found
// A rewriting was seen only in its own episode until it had helped.
WHERE NOT EXISTS { (memory)-[:RESHAPES]->() } OR EXISTS {
  (memory)<-[touched:TOUCHED]-(operation:Operation)
  WHERE touched.promoted AND operation.at <= $moment AND coalesce(operation.undone_at > $moment, true) }
WITH memory, cosine, found
// What was quarantined then, whatever was decided since; a part of a split run is held without an operation of its own.
WHERE NOT (memory.status = 'quarantined' AND NOT EXISTS { (memory)<-[:TOUCHED]-(:Operation {kind: 'quarantine'}) })
  AND NOT EXISTS {
  (memory)<-[:SUPERSEDES*0..1]-(holder:Memory)<-[:TOUCHED]-(held:Operation {kind: 'quarantine'})
  WHERE held.at <= $moment AND coalesce(held.undone_at > $moment, true) AND NOT EXISTS {
    (holder)<-[:TOUCHED]-(decided:Operation)
    WHERE decided.kind IN ['release', 'revive', 'verify', 'update'] AND decided.seq > held.seq AND decided.at <= $moment
      AND coalesce(decided.undone_at > $moment, true) } }
WITH memory, cosine, found LIMIT $top
RETURN coalesce(head(COLLECT { MATCH (memory)<-[:SUPERSEDES]-(now:Memory) WHERE memory.status <> 'active' RETURN now.id }), memory.id) AS id,
  memory.layer AS layer, memory.version AS version, memory.name AS name, coalesce(head(COLLECT {
    MATCH (memory)<-[touched:TOUCHED]-(operation:Operation)
    WHERE operation.at > $moment AND touched.content IS NOT NULL
    RETURN touched.content ORDER BY operation.seq LIMIT 1
  }), memory.content) AS content, coalesce(memory.text, memory.content) AS text, cosine, found,
  memory.external_id AS external_id, memory.source AS source, memory.speaker AS speaker,
  memory.occurred_at AS occurred_at, memory.metadata AS metadata
