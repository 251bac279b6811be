// fluxmem.internal.undoable(namespace :: STRING, firstSeq = 1 :: INTEGER, lastSeq = 9223372036854775807 :: INTEGER, runId = null :: STRING) :: (id :: STRING, seq :: INTEGER, kind :: STRING, undone :: BOOLEAN, refused :: STRING)
//
// The operations of a run or a range, newest first, and what stands in the way of undoing all of them.
//
// An undo is no way back itself: one whose operation is among them is left out, any other one is refused.
//
// mode: READ
CYPHER 25
CALL () {
  WITH * WHERE $runId IS NULL
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND $firstSeq <= operation.seq <= $lastSeq
  RETURN operation
  UNION ALL
  WITH * WHERE $runId IS NOT NULL
  MATCH (operation:Operation)
  WHERE operation.namespace = $namespace AND operation.run_id = $runId AND $firstSeq <= operation.seq <= $lastSeq
  RETURN operation
}
OPTIONAL MATCH (target:Operation {namespace: $namespace, id: CASE operation.kind WHEN 'undo' THEN split(operation.after, '"')[3] END})
WITH operation, target
WHERE target IS NULL OR NOT ($firstSeq <= target.seq <= $lastSeq AND coalesce(target.run_id, '') = coalesce($runId, target.run_id, ''))
RETURN operation.id AS id, operation.seq AS seq, operation.kind AS kind, coalesce(operation.undone, false) AS undone, CASE
    WHEN operation.erased THEN 'its texts were erased'
    WHEN operation.undone THEN null
    WHEN operation.redacted THEN 'a text that it would bring back was erased'
    WHEN operation.kind = 'undo' THEN 'it is an undo itself'
    WHEN operation.kind IN ['feedback', 'expand', 'prune', 'reshape', 'source'] THEN null
    WHEN NOT operation.kind IN ['create', 'revive', 'update', 'delete', 'episode', 'step', 'end', 'split', 'merge',
      'skill', 'approve', 'rollback', 'retire', 'quarantine', 'verify', 'release', 'drop']
      THEN 'operations of kind ' + operation.kind + ' have no undo'
    WHEN EXISTS {
      (operation)-[own:TOUCHED]->(:Memory)<-[theirs:TOUCHED]-(later:Operation)
      WHERE own.moved IS NULL AND theirs.moved IS NULL AND later.seq > operation.seq AND NOT coalesce(later.undone, false)
        AND (later.seq > $lastSeq OR $runId IS NOT NULL AND coalesce(later.run_id, '') <> $runId)
        AND (later.kind IN ['create', 'revive', 'update', 'delete', 'episode', 'step', 'end', 'split', 'merge', 'quarantine',
          'verify', 'release', 'drop']
          OR operation.kind IN ['create', 'revive'] AND later.kind = 'source'
          OR operation.kind IN ['skill', 'approve', 'rollback', 'retire'] AND later.kind IN ['skill', 'approve', 'rollback', 'retire']
          OR operation.kind IN ['episode', 'step'] AND later.kind IN ['feedback', 'expand', 'prune', 'reshape']) }
      THEN 'the memory has changed since, or another source has cited it; undo the later operations first'
  END AS refused
ORDER BY seq DESC
