// fluxmem.create(namespace :: STRING, memories :: LIST<MAP>, actor = driver :: STRING, reason =  :: STRING, runId = null :: STRING, revive = true :: BOOLEAN) :: (id :: STRING, key :: STRING, created :: BOOLEAN, seq :: INTEGER)
//
// Store semantic memories with their sources, entities and order, and log each one.
//
// A memory is a map: content (required), id, key, external_id, name, text (what full text indexes: content with
// speaker, title or date), content_hash, embedding, embedding_model, source,
// speaker, occurred_at (a time or its ISO 8601 text), metadata (JSON text), tags, previous_key, operation_id, after (JSON text of the new
// state), mentions and about (entities as maps of key and name), phrases (keys of names that it mentions if some
// memory is about them). Defaults: id is a random UUID, key is the id, text is the content. A key that exists already is left as it is, unless it was deleted, `revive` is true and its content_hash, if given, is the same; a
// source that it did not have yet is added, as an operation of kind `source`.
// No row: they would be more than the namespace's quota. The order of locks is the order of keys, and the tenant's node, which hands out seq, is locked last.
//
// mode: WRITE
CYPHER 25
MERGE (tenant:Namespace {name: $namespace})
  ON CREATE SET tenant.namespace = $namespace, tenant.id = randomUUID(), tenant.seq = 0,
    tenant.key = 'ns' + replace(randomUUID(), '-', ''), tenant.created_at = datetime()
// With a quota the tenant is locked first, so that what fits is counted exactly.
CALL (tenant) {
  WITH * WHERE tenant.quota IS NOT NULL
  SET tenant.namespace = $namespace
}
WITH tenant, datetime() AS now
WHERE tenant.quota IS NULL OR coalesce(tenant.memories, 0) + COUNT {
  UNWIND range(0, size($memories) - 1) AS position
  WITH DISTINCT coalesce($memories[position].key, $memories[position].id, toString(position)) AS key
  WHERE NOT EXISTS { (:Memory {namespace: $namespace, key: key}) }
  RETURN key
} <= tenant.quota
UNWIND range(0, size($memories) - 1) AS position
WITH tenant, now, position, $memories[position] AS row
WITH tenant, now, position, row, coalesce(row.id, randomUUID()) AS id
WITH tenant, now, position, row, id, coalesce(row.key, id) AS key
ORDER BY key, position
MERGE (memory:Memory {namespace: $namespace, key: key})
  ON CREATE SET memory:Semantic, memory.id = id, memory.layer = 'semantic', memory.status = 'active',
    memory.version = 0, memory.namespace_key = tenant.key, memory.external_id = row.external_id,
    memory.name = coalesce(row.name, left(row.content, 60)), memory.content = row.content,
    memory.text = coalesce(row.text, row.content), memory.content_hash = row.content_hash,
    memory.embedding_model = row.embedding_model, memory.source = row.source, memory.session = row.session,
    memory.speaker = row.speaker,
    memory.occurred_at = datetime(toString(row.occurred_at)),
    memory.valid_from = coalesce(datetime(toString(row.occurred_at)), now),
    memory.recorded_from = now, memory.metadata = coalesce(row.metadata, '{}'),
    memory.tags = coalesce(row.tags, [])
WITH tenant, now, memory, key, min(position) AS position, collect(row) AS rows
WITH tenant, now, memory, key, position, rows, rows[0] AS row, memory.version = 0 AS fresh,
  $revive AND memory.status = 'deleted'
    AND coalesce(memory.content_hash = rows[0].content_hash, true) AS revived
SET memory.version = CASE WHEN fresh THEN 1 ELSE memory.version END
SET memory.status = CASE WHEN revived THEN 'active' ELSE memory.status END,
  memory.gaps = CASE WHEN revived THEN coalesce(memory.gaps, []) + [memory.recorded_to, now] ELSE memory.gaps END
SET memory.recorded_to = CASE WHEN revived THEN null ELSE memory.recorded_to END
CALL (memory, row, fresh) {
  WITH * WHERE fresh AND row.embedding IS NOT NULL
  CALL db.create.setNodeVectorProperty(memory, 'embedding', toFloatList(row.embedding))
}
CALL (memory, rows, fresh) {
  UNWIND range(0, size(rows) - 1) AS place
  WITH memory, fresh, rows[place].source AS uri, min(place) AS place
  WHERE uri IS NOT NULL
  MERGE (source:Source {namespace: $namespace, uri: uri})
    ON CREATE SET source.id = randomUUID()
  WITH memory, fresh, source, uri, place, EXISTS { (memory)-[:FROM]->(source) } AS known
  MERGE (memory)-[:FROM]->(source)
  // The first row of a new memory is what its creation logs.
  WITH uri, place WHERE NOT known AND NOT (fresh AND place = 0) ORDER BY place
  RETURN collect({uri: uri, place: place}) AS cited
}
CALL (memory, row, fresh) {
  UNWIND CASE WHEN fresh THEN coalesce(row.mentions, []) ELSE [] END AS item
  MERGE (entity:Entity {namespace: $namespace, key: item.key})
    ON CREATE SET entity.id = randomUUID(), entity.name = item.name
  CREATE (memory)-[:MENTIONS]->(entity)
}
CALL (memory, row, fresh) {
  UNWIND CASE WHEN fresh THEN coalesce(row.about, []) ELSE [] END AS item
  MERGE (entity:Entity {namespace: $namespace, key: item.key})
    ON CREATE SET entity.id = randomUUID(), entity.name = item.name
  CREATE (memory)-[:ABOUT]->(entity)
}
WITH tenant, now, memory, key, position, row, rows, fresh, revived, cited
ORDER BY position
WITH tenant, now, collect({position: position, memory: memory, key: key, row: row, rows: rows, fresh: fresh, revived: revived,
  cited: cited}) AS stored
CALL (stored) {
  UNWIND stored AS entry
  WITH entry.memory AS memory, entry.row AS row, entry.fresh AS fresh
  WHERE fresh AND row.previous_key IS NOT NULL
  MATCH (previous:Memory {namespace: $namespace, key: row.previous_key})
  CREATE (previous)-[:NEXT]->(memory)
}
CALL (stored) {
  UNWIND stored AS entry
  UNWIND CASE WHEN entry.fresh THEN coalesce(entry.row.phrases, []) ELSE [] END AS key
  MATCH (entity:Entity {namespace: $namespace, key: key})
  WHERE EXISTS { (entity)<-[:ABOUT]-() }
  WITH entry.memory AS memory, entity
  MERGE (memory)-[:MENTIONS]->(entity)
}
CALL (stored) {
  UNWIND stored AS entry
  UNWIND CASE WHEN entry.revived THEN [{kind: 'revive', row: entry.row}] WHEN entry.fresh THEN [{kind: 'create', row: entry.row}]
    ELSE [] END + [item IN entry.cited | {kind: 'source', row: entry.rows[item.place], second: entry.revived AND item.place = 0}] AS change
  WITH entry.position AS position, entry.memory AS memory, change.kind AS kind, change.row AS row,
    // One row that revives and cites makes two operations.
    CASE WHEN change.second THEN randomUUID() ELSE coalesce(change.row.operation_id, randomUUID()) END AS id
  RETURN collect({position: position, memory: memory, kind: kind, row: row, id: id}) AS changed
}
SET tenant.seq = tenant.seq + size(changed), tenant.memories = coalesce(tenant.memories, 0)
  + size([entry IN stored WHERE entry.fresh])
WITH tenant, now, stored, changed, coalesce(tenant.speakers, []) AS known
CALL (changed, known) {
  UNWIND changed AS entry
  WITH DISTINCT known, CASE WHEN entry.kind <> 'source' THEN entry.row.speaker END AS speaker
  UNWIND split(toLower(speaker), ' ') AS word
  WITH DISTINCT known, word WHERE NOT word IN known
  RETURN collect(word) AS words
}
SET tenant.speakers = known + words[..200 - size(known)]
WITH now, stored, changed, tenant.seq - size(changed) AS base
CALL (now, changed, base) {
  UNWIND range(0, size(changed) - 1) AS index
  WITH now, base + index + 1 AS seq, changed[index] AS entry
  WITH now, seq, entry.position AS position, entry.id AS id, entry.memory AS memory, entry.kind AS kind, entry.row AS row
  WITH now, seq, position, id, memory, kind, row, [text IN [memory.key, coalesce(row.source, '')] |
    '"' + replace(replace(text, '\\', '\\\\'), '"', '\\"') + '"'] AS quoted
  CREATE (operation:Operation {
    namespace: $namespace, id: id, seq: seq,
    kind: kind, actor: $actor, reason: $reason, at: now,
    before: CASE kind WHEN 'revive' THEN '{"status":"deleted"}' END,
    after: CASE kind WHEN 'revive' THEN '{"status":"active","key":' + quoted[0] + '}'
      WHEN 'source' THEN '{"source":' + quoted[1] + ',"key":' + quoted[0] + '}' ELSE row.after END
  })-[:TOUCHED]->(memory)
  SET operation.run_id = $runId, operation.cited = CASE kind WHEN 'source' THEN row.source END
  RETURN collect({position: position, seq: seq}) AS numbered
}
UNWIND stored + numbered AS entry
// The key that was asked for: a writer who was first may have given the memory another text, and so another key.
WITH entry.position AS position, head(collect(entry.memory)) AS memory, head(collect(entry.key)) AS key,
  head(collect(entry.fresh OR entry.revived)) AS created, min(entry.seq) AS seq
ORDER BY position
RETURN memory.id AS id, key, created, seq
