// fluxmem.internal.logged(namespace :: STRING, afterSeq :: INTEGER, top :: INTEGER) :: (seq :: INTEGER, id :: STRING, kind :: STRING, actor :: STRING, reason :: STRING, at :: ZONED DATETIME, run_id :: STRING, before :: STRING, after :: STRING, erased :: BOOLEAN, memory :: STRING)
//
// A page of the log, oldest first, with the memory or episode that each operation is about.
//
// mode: READ
CYPHER 25
MATCH (operation:Operation)
WHERE operation.namespace = $namespace AND operation.seq > $afterSeq
WITH operation ORDER BY operation.seq LIMIT $top
RETURN operation.seq AS seq, operation.id AS id, operation.kind AS kind, operation.actor AS actor,
  operation.reason AS reason, operation.at AS at, operation.run_id AS run_id, operation.before AS before,
  operation.after AS after, coalesce(operation.erased, false) AS erased, head(COLLECT {
    MATCH (operation)-[touched:TOUCHED]->(memory:Memory)
    WHERE touched.moved IS NULL
    RETURN memory.id ORDER BY coalesce(touched.created, false) DESC, CASE memory.layer WHEN 'episodic' THEN 0 ELSE 1 END, touched.part LIMIT 1
  }) AS memory
ORDER BY seq
