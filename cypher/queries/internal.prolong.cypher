// fluxmem.internal.prolong(namespace :: STRING, ids :: LIST<STRING>, at :: ZONED DATETIME) :: (id :: STRING)
//
// Note that memories which live for a time only were used: that time begins anew.
//
// No version and no operation: as a clock it says when, not what, and reading alone sets it.
//
// mode: WRITE
CYPHER 25
UNWIND $ids AS id
MATCH (memory:Memory {namespace: $namespace, id: id})
WHERE memory.status = 'active'
WITH DISTINCT memory ORDER BY memory.id
SET memory.refreshed_at = $at
RETURN memory.id AS id
