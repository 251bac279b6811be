// fluxmem.internal.verify(namespace :: STRING, items :: LIST<MAP>, actor = driver :: STRING, reason =  :: STRING) :: (verified :: LIST<STRING>)
//
// Mark memories as verified, with what they claim; one that is quarantined is released. Always one row.
//
// `items` are maps of key, content_hash (one of another text is left alone), claim, values, operation_id and after (JSON
// text of key, claim and values).
//
// mode: WRITE
CYPHER 25
CALL () {
  UNWIND $items AS item
  MATCH (memory:Memory {namespace: $namespace, key: item.key})
  SET memory.namespace = memory.namespace // takes the lock before the status is read
  WITH memory, item
  WHERE memory.status IN ['active', 'quarantined'] AND NOT coalesce(memory.verified, false)
    AND coalesce(memory.content_hash = item.content_hash, true)
  WITH memory, collect(item)[0] AS item
  ORDER BY memory.key
  RETURN collect({memory: memory, item: item, status: memory.status}) AS found
}
CALL (found) {
  WITH found WHERE size(found) > 0
  MATCH (tenant:Namespace {name: $namespace})
  SET tenant.seq = tenant.seq + size(found)
  WITH found, tenant.seq - size(found) AS base
  UNWIND range(0, size(found) - 1) AS place
  WITH base + place + 1 AS seq, found[place] AS entry
  WITH seq, entry, entry.memory AS memory
  SET memory.status = 'active', memory.verified = true, memory.claim = entry.item.claim,
    memory.claim_values = entry.item.values
  CREATE (:Operation {
    namespace: $namespace, id: coalesce(entry.item.operation_id, randomUUID()), seq: seq, kind: 'verify', actor: $actor,
    reason: $reason, at: datetime(), before: '{"status":"' + entry.status + '"}',
    after: entry.item.after
  })-[:TOUCHED]->(memory)
  RETURN collect(memory.id) AS verified
}
RETURN verified
