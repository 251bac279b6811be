// fluxmem.internal.pastVersion(namespace :: STRING, id :: STRING, moment :: ZONED DATETIME) :: (version :: INTEGER, content :: STRING, metadata :: STRING, status :: STRING)
//
// Which version of a memory was there at a moment, and in which status. No row: it was not stored yet.
//
// mode: READ
CYPHER 25
MATCH (memory:Memory {namespace: $namespace, id: $id})-[:SUPERSEDES*0..1]->(version:Memory)
WHERE version.recorded_from <= $moment
WITH memory, version, (version.recorded_to IS NULL OR version.recorded_to > $moment)
  AND none(place IN range(0, size(coalesce(version.gaps, [])) - 2, 2)
    WHERE version.gaps[place] <= $moment AND $moment < version.gaps[place + 1]) AS there
ORDER BY there DESC, version.recorded_from DESC LIMIT 1
RETURN version.version AS version, coalesce(head(COLLECT {
    MATCH (version)<-[touched:TOUCHED]-(operation:Operation)
    WHERE operation.at > $moment AND touched.content IS NOT NULL
    RETURN touched.content ORDER BY operation.seq LIMIT 1
  }), version.content) AS content, version.metadata AS metadata, CASE
    WHEN NOT there THEN 'deleted'
    WHEN EXISTS {
      (memory)<-[:TOUCHED]-(held:Operation {kind: 'quarantine'})
      WHERE held.at <= $moment AND coalesce(held.undone_at > $moment, true) AND NOT EXISTS {
        (memory)<-[:TOUCHED]-(decided:Operation)
        WHERE decided.kind IN ['release', 'revive', 'verify', 'update'] AND decided.seq > held.seq AND decided.at <= $moment
          AND coalesce(decided.undone_at > $moment, true) } } THEN 'quarantined'
    WHEN version.status = 'quarantined' AND NOT EXISTS { (version)<-[:TOUCHED]-(:Operation {kind: 'quarantine'}) } THEN 'quarantined'
    WHEN version.layer = 'episodic' AND coalesce(version.ended_at > $moment, true) THEN 'candidate'
    WHEN EXISTS { (version)-[:RESHAPES]->() } AND NOT EXISTS {
      (version)<-[touched:TOUCHED]-(operation:Operation)
      WHERE touched.promoted AND operation.at <= $moment AND coalesce(operation.undone_at > $moment, true) } THEN 'local'
    WHEN version.status IN ['superseded', 'deleted', 'quarantined'] THEN 'active'
    ELSE version.status END AS status
