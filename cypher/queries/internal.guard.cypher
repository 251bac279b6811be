// fluxmem.internal.guard(namespace :: STRING, items :: LIST<MAP>, drift :: FLOAT, spared :: INTEGER, actor = driver :: STRING, runId = null :: STRING) :: (quarantined :: LIST<STRING>)
//
// Quarantine what the operations of this transaction stored and a guard objects to; always one row.
//
// Citing another source stores no text: what a person has decided about the one that is there stays.
// `items` are maps of operation_id (the one that stored it), why (what a rule has found, or null), claim and values
// (what the text claims), new_id (of the operation logged here) and, from a log, the reason. Beside the rules: a text that contradicts a
// verified memory, and one whose cosine to its memory's first version is below `drift`: after more than `spared`
// rewritings, since the first may correct all of it, and of more than three words, which vectors compare badly.
//
// mode: WRITE
CYPHER 25
CALL () {
  WITH EXISTS { MATCH (fact:Memory) WHERE fact.namespace = $namespace AND fact.claim IS NOT NULL AND fact.status = 'active' } AS verifying
  UNWIND $items AS item
  MATCH (operation:Operation {namespace: $namespace, id: item.operation_id})-[:TOUCHED]->(memory:Memory)
  WHERE memory.status IN ['active', 'local']
    // What is left out here, most of an ingest, would cost as much as storing it.
    AND (operation.kind <> 'source' AND (verifying AND item.claim IS NOT NULL OR operation.kind = 'update' OR item.why <> '')
      OR item.reason IS NOT NULL)
  CALL (operation, memory) {
    WITH * WHERE operation.kind = 'update' AND memory.version > 1 + $spared
    MATCH (first:Memory {namespace: $namespace, id: memory.id + '@1'})
    WHERE size(split(first.content, ' ')) > 3 AND size(split(memory.content, ' ')) > 3
      AND first.embedding IS NOT NULL AND size(first.embedding) = size(memory.embedding)
    RETURN collect(2 * vector.similarity.cosine(first.embedding, memory.embedding) - 1)[0] AS cosine
  }
  CALL (item) {
    MATCH (verified:Memory {namespace: $namespace, claim: item.claim})
    WHERE verified.status = 'active' AND size([place IN range(0, size(item.values) - 1)
      WHERE item.values[place] <> verified.claim_values[place]]) = 1
    RETURN min(verified.id) AS verified
  }
  WITH item, memory, operation.at AS at, coalesce(item.reason,
      CASE WHEN item.why <> '' THEN 'reads like instructions: ' + item.why END,
      'contradicts the verified memory ' + verified,
      CASE WHEN cosine < $drift THEN 'drifted too far from its first version: cosine '
        + toString(round(cosine, 2)) + ', limit ' + toString($drift) END) AS why
  WHERE why IS NOT NULL
  WITH memory, collect(item)[0] AS item, collect(why)[0] AS why, min(at) AS at
  ORDER BY memory.key
  RETURN collect({memory: memory, item: item, why: why, at: at, status: memory.status}) AS found
}
CALL (found) {
  WITH found WHERE size(found) > 0
  MATCH (tenant:Namespace {name: $namespace})
  SET tenant.seq = tenant.seq + size(found)
  WITH found, tenant.seq - size(found) AS base
  UNWIND range(0, size(found) - 1) AS place
  WITH base + place + 1 AS seq, found[place] AS entry
  WITH seq, entry, entry.memory AS memory
  SET memory.status = 'quarantined'
  CREATE (:Operation {
    namespace: $namespace, id: coalesce(entry.item.new_id, randomUUID()), seq: seq, kind: 'quarantine', actor: $actor,
    // There was no moment at which it could be recalled.
    reason: entry.why, at: entry.at, before: '{"status":"' + entry.status + '"}',
    after: '{"status":"quarantined","operation":"' + entry.item.operation_id + '"}', run_id: $runId
  })-[:TOUCHED]->(memory)
  RETURN collect(memory.id) AS quarantined
}
RETURN quarantined
