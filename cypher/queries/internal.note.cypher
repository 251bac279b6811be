// fluxmem.internal.note(namespace :: STRING, text :: STRING, operationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING) :: (text :: STRING, seq :: INTEGER)
//
// Rewrite the scratchpad of a namespace, the one text that is always shown to a policy.
//
// mode: WRITE
CYPHER 25
MERGE (tenant:Namespace {name: $namespace})
  ON CREATE SET tenant.namespace = $namespace, tenant.id = randomUUID(), tenant.seq = 0,
    tenant.key = 'ns' + replace(randomUUID(), '-', ''), tenant.created_at = datetime()
SET tenant.seq = tenant.seq + 1
WITH tenant, coalesce(tenant.scratchpad, '') AS before
SET tenant.scratchpad = $text
CREATE (operation:Operation {
  namespace: $namespace, id: coalesce($operationId, randomUUID()), seq: tenant.seq, kind: 'note',
  actor: $actor, reason: $reason, at: datetime(),
  before: '{"text":"' + replace(replace(replace(before, '\\', '\\\\'), '"', '\\"'), '\n', '\\n') + '"}',
  after: '{"text":"' + replace(replace(replace($text, '\\', '\\\\'), '"', '\\"'), '\n', '\\n') + '"}'
})
RETURN tenant.scratchpad AS text, operation.seq AS seq
