// fluxmem.internal.expire(namespace :: STRING, items :: LIST<MAP>, actor = driver :: STRING, reason =  :: STRING) :: (alive :: LIST<STRING>)
//
// Delete memories whose time is over, each with its operation; always one row, `alive` are ids of those that go on.
//
// `items` are maps of id, tag (one that the memory has until it is written anew), since (it lives if it was used
// after that) and operation_id. What was deleted by another one is not alive either.
//
// mode: WRITE
CYPHER 25
CALL () {
  UNWIND $items AS item
  MATCH (memory:Memory {namespace: $namespace, id: item.id})
  WITH memory, item ORDER BY memory.id
  SET memory.namespace = memory.namespace // takes the lock before the state is read
  WITH memory, item, NOT item.tag IN memory.tags OR coalesce(memory.refreshed_at > item.since, false) AS lives
  WHERE memory.status = 'active'
  RETURN collect(CASE WHEN lives THEN memory.id END) AS alive,
    collect(CASE WHEN NOT lives THEN {memory: memory, operation_id: item.operation_id} END) AS over
}
CALL (over) {
  WITH over WHERE size(over) > 0
  MATCH (tenant:Namespace {name: $namespace})
  SET tenant.seq = tenant.seq + size(over)
  WITH over, tenant.seq - size(over) AS base, datetime() AS now
  UNWIND range(0, size(over) - 1) AS place
  WITH base + place + 1 AS seq, now, over[place].memory AS memory, over[place].operation_id AS id
  SET memory.status = 'deleted', memory.recorded_to = now
  CREATE (:Operation {
    namespace: $namespace, id: coalesce(id, randomUUID()), seq: seq, kind: 'delete', actor: $actor, reason: $reason,
    at: now, before: '{"status":"active"}', after: '{"status":"deleted"}'
  })-[:TOUCHED]->(memory)
}
RETURN alive
