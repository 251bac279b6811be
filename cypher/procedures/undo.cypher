// fluxmem.undo(namespace :: STRING, operationId :: STRING, newOperationId = null :: STRING, actor = driver :: STRING, reason =  :: STRING) :: (id :: STRING, kind :: STRING, refused :: STRING, seq :: INTEGER)
//
// Take back one operation; the undoing is an operation itself.
//
// `refused` says why nothing changed: an undo, an operation undone already, one whose texts were erased, or a memory
// changed since. What was created becomes deleted, an updated fact gets its former version back, a deleted one its
// status, an ended episode runs again, a step goes, split and merged episodes become what they were.
// Feedback and what followed from it are counted back in any order: counts add up, so later ones stay. A version of
// a skill that was made becomes deleted, a reviewed one gets its former state.
//
// mode: WRITE
CYPHER 25
MATCH (operation:Operation {namespace: $namespace, id: $operationId})
SET operation.namespace = operation.namespace // takes the lock before the state is read
// One undo at a time: counts are read before they are set.
WITH operation
MATCH (tenant:Namespace {name: $namespace})
SET tenant.namespace = $namespace // not its seq, which would be read before the lock
WITH operation, datetime() AS now, operation.kind IN ['feedback', 'expand', 'prune', 'reshape'] AS learned,
  operation.kind IN ['skill', 'approve', 'rollback', 'retire'] AS reviewed
OPTIONAL MATCH (operation)-[touched:TOUCHED]->(memory:Memory)
WHERE touched.moved IS NULL AND (NOT learned OR memory.layer = 'episodic')
WITH operation, now, learned, reviewed, touched, memory ORDER BY coalesce(touched.created, false) DESC, touched.part LIMIT 1
OPTIONAL MATCH (memory)-[:SUPERSEDES]->(former:Memory)
  WHERE operation.kind = 'update' AND former.version = memory.version - 1 AND former.status = 'superseded'
WITH operation, memory, touched, learned, reviewed, former, now, CASE
    WHEN operation.erased THEN 'its texts were erased'
    WHEN NOT learned AND NOT reviewed AND NOT operation.kind IN ['create', 'revive', 'source', 'update', 'delete', 'episode', 'step', 'end',
      'split', 'merge', 'quarantine', 'verify', 'release', 'drop'] THEN 'operations of kind ' + operation.kind + ' have no undo'
    WHEN operation.undone THEN 'it is undone already'
    WHEN memory IS NULL OR operation.redacted THEN 'a text that it would bring back was erased'
    WHEN NOT learned AND operation.kind <> 'source' AND EXISTS {
      (operation)-[own:TOUCHED]->(:Memory)<-[theirs:TOUCHED]-(later:Operation)
      WHERE own.moved IS NULL AND theirs.moved IS NULL AND later.seq > operation.seq AND NOT coalesce(later.undone, false)
        AND (later.kind IN ['create', 'revive', 'update', 'delete', 'episode', 'step', 'end', 'split', 'merge', 'quarantine',
          'verify', 'release', 'drop']
        OR operation.kind IN ['create', 'revive'] AND later.kind = 'source'
        OR operation.kind IN ['episode', 'step'] AND later.kind IN ['feedback', 'expand', 'prune', 'reshape']) }
      THEN 'the memory has changed since, or another source has cited it; undo the later operations first'
    WHEN reviewed AND EXISTS { (operation)-[:TOUCHED]->(:Memory)<-[:TOUCHED]-(later:Operation)
      WHERE later.seq > operation.seq AND later.kind IN ['skill', 'approve', 'rollback', 'retire', 'delete']
        AND NOT coalesce(later.undone, false) }
      THEN 'the skill has changed since; undo the later operations first'
  END AS refused
CALL (operation, reviewed, refused, now) {
  WITH * WHERE refused IS NULL AND reviewed
  MATCH (operation)-[change:TOUCHED]->(version:Memory)
  SET version.gaps = CASE WHEN change.status = 'active' AND version.recorded_to IS NOT NULL
    THEN coalesce(version.gaps, []) + [version.recorded_to, now] ELSE version.gaps END
  SET version.status = CASE WHEN change.created THEN 'deleted' ELSE change.status END,
    version.review = coalesce(change.review, version.review),
    version.recorded_to = CASE WHEN change.created OR change.status = 'superseded' THEN now END
}
CALL (operation, memory, learned, refused) {
  WITH * WHERE refused IS NULL AND learned
  MATCH (operation)-[vote:TOUCHED]->(fact:Memory)
  WHERE vote.link IS NOT NULL
  MATCH (fact)-[link:SUPPORTS|ASSOCIATED]->(:Memory {namespace: $namespace, id: coalesce(vote.other, memory.id)})
  WHERE type(link) = vote.link
  SET link.successes = round(link.successes - vote.gain, 6), link.failures = round(link.failures - vote.loss, 6)
  SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures)
  WITH collect(DISTINCT link) AS links
  UNWIND links AS link
  WITH link WHERE link.successes = 0 AND link.failures = 0 AND link.origin = 'feedback'
  DELETE link
}
CALL (operation, learned, refused) {
  WITH * WHERE refused IS NULL AND learned
  // What merges have carried on since is counted back there too, for their own undo.
  MATCH (operation)-[vote:TOUCHED]->(fact:Memory)
  UNWIND vote.via AS merge
  MATCH (:Operation {namespace: $namespace, id: merge})-[carried:TOUCHED {moved: vote.link}]->(fact)
  SET carried.successes = round(carried.successes - vote.gain, 6), carried.failures = round(carried.failures - vote.loss, 6)
}
CALL (operation, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'feedback'
  MATCH (operation)-[:TOUCHED]->(step:Step)
  REMOVE step.success, step.feedback
}
CALL (operation, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'prune'
  MATCH (operation)-[:TOUCHED]->(step:Step)
  MATCH (operation)-[:TOUCHED {hidden: true}]->(fact:Memory)
  MATCH (step)-[activated:ACTIVATED]->(fact)
  SET activated.pruned = false
}
CALL (operation, refused, now) {
  WITH * WHERE refused IS NULL
  MATCH (operation)-[change:TOUCHED]->(rewriting:Memory)
  WHERE change.promoted AND rewriting.status = 'active' OR change.reshaped
  SET rewriting.status = CASE WHEN change.promoted THEN 'local' ELSE 'deleted' END,
    rewriting.recorded_to = CASE WHEN change.promoted THEN null ELSE now END
}
CALL (operation, memory, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'source'
  MATCH (memory)-[cited:FROM]->(:Source {namespace: $namespace, uri: operation.cited})
  DELETE cited
}
CALL (operation, memory, former, refused, now) {
  WITH * WHERE refused IS NULL AND operation.kind = 'update'
  // What was undone stays readable as of its time.
  CREATE (taken:$(labels(memory)))
  SET taken = memory {.*, id: memory.id + '@' + memory.version + '~' + operation.id,
    key: memory.key + '@' + memory.version + '~' + operation.id, status: 'deleted', recorded_to: now}
  CREATE (memory)-[:SUPERSEDES {undone: true}]->(taken)
  WITH memory, taken
  MATCH (memory)-[mention:MENTIONS]->(entity:Entity)
  CREATE (taken)-[:MENTIONS]->(entity)
  DELETE mention
}
CALL (operation, memory, former, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'update'
  MATCH (former)-[:MENTIONS]->(entity:Entity)
  CREATE (memory)-[:MENTIONS]->(entity)
}
CALL (operation, memory, former, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'update'
  // A memory that took the former text since, and is deleted, must not hold its key.
  MATCH (other:Memory {namespace: $namespace, key: left(former.key, size(former.key) - size('@' + former.version))})
  WHERE other.status = 'deleted' AND other <> memory
  SET other.key = other.key + '@' + other.id
}
CALL (operation, memory, former, refused, now) {
  // The status is there where the update changed it too.
  WITH *, former {.*} AS state, coalesce(memory.gaps, []) + [memory.recorded_from, now] AS gaps,
    split(operation.before, '"')[5] AS status
  WHERE refused IS NULL AND operation.kind = 'update'
  DETACH DELETE former
  // All of it is replaced, since the former version may lack what the later one has.
  SET memory = state {.*, id: memory.id, status: coalesce(status, memory.status), gaps: gaps,
    recorded_to: CASE status WHEN 'deleted' THEN state.recorded_to ELSE memory.recorded_to END,
    key: left(state.key, size(state.key) - size('@' + state.version))}
}
CALL (operation, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'step'
  MATCH (operation)-[:TOUCHED]->(step:Step)
  DETACH DELETE step
}
CALL (operation, memory, touched, refused) {
  WITH * WHERE refused IS NULL AND operation.kind IN ['end', 'split', 'merge']
  SET memory += touched {.content, .embedding, .trajectory_embedding, .embedding_model}
}
CALL (operation, memory, refused) {
  WITH * WHERE refused IS NULL AND operation.kind = 'end'
  SET memory.status = 'candidate'
  REMOVE memory.ended_at, memory.success, memory.outcome
}
CALL (operation, memory, refused, now) {
  WITH * WHERE refused IS NULL AND operation.kind = 'split'
  MATCH (operation)-[:TOUCHED {part: 'second'}]->(later:Memory)
  SET later.status = 'deleted', later.recorded_to = now
  WITH memory, later, COUNT { (memory)-[:HAS_STEP]->() } AS kept
  CALL (memory, later, kept) {
    MATCH (memory)-[:HAS_STEP]->(end:Step {index: kept - 1}), (later)-[:HAS_STEP]->(start:Step {index: 0})
    CREATE (end)-[:NEXT]->(start)
  }
  MATCH (later)-[held:HAS_STEP]->(step:Step)
  DELETE held
  CREATE (memory)-[:HAS_STEP]->(step)
  SET step.index = step.index + kept
}
CALL (operation, memory, touched, refused, now) {
  WITH * WHERE refused IS NULL AND operation.kind = 'merge'
  MATCH (operation)-[second:TOUCHED {part: 'second'}]->(other:Memory)
  SET memory += touched {.success, .outcome, .ended_at}, other.status = second.status,
    other.gaps = coalesce(other.gaps, []) + [other.recorded_to, now]
  SET other.recorded_to = null
  WITH operation, memory, other, touched.kept AS kept
  CALL (memory, kept) {
    MATCH (memory)-[:HAS_STEP]->(:Step {index: kept - 1})-[next:NEXT]->(:Step)
    DELETE next
  }
  CALL (memory, other, kept) {
    MATCH (memory)-[held:HAS_STEP]->(step:Step)
    WHERE step.index >= kept
    DELETE held
    CREATE (other)-[:HAS_STEP]->(step)
    SET step.index = step.index - kept
  }
  CALL (operation, memory, other) {
    MATCH (operation)-[carried:TOUCHED]->(fact:Memory)
    WHERE carried.moved IS NOT NULL
    MATCH (fact)-[sum:SUPPORTS|ASSOCIATED]->(memory)
    WHERE type(sum) = carried.moved
    SET sum.successes = round(sum.successes - carried.successes, 6), sum.failures = round(sum.failures - carried.failures, 6)
    SET sum.weight = (1 + sum.successes) / (2 + sum.successes + sum.failures)
    WITH sum, carried
    WHERE sum.successes = 0 AND sum.failures = 0 AND (sum.origin = 'feedback' OR carried.made)
    DELETE sum
  }
  CALL (operation, other) {
    MATCH (operation)-[carried:TOUCHED]->(fact:Memory)
    WHERE carried.moved IS NOT NULL AND NOT (carried.successes = 0 AND carried.failures = 0 AND carried.origin = 'feedback')
    CREATE (fact)-[link:$(carried.moved)]->(other)
    SET link = carried {.*, moved: null, made: null}
    SET link.weight = (1 + link.successes) / (2 + link.successes + link.failures)
  }
  CALL (operation, other) {
    MATCH (operation)-[carried:TOUCHED]->(fact:Memory)
    WHERE carried.moved IS NOT NULL
    MATCH (fact)<-[vote:TOUCHED {link: carried.moved}]-(:Operation)
    WHERE last(vote.via) = operation.id
    SET vote.other = other.id, vote.via = vote.via[..-1]
  }
}
CALL (operation, memory, refused, now) {
  WITH * WHERE refused IS NULL
  MATCH (tenant:Namespace {name: $namespace})
  SET memory.gaps = CASE WHEN operation.kind IN ['delete', 'drop'] THEN coalesce(memory.gaps, []) + [memory.recorded_to, now]
    ELSE memory.gaps END
  SET memory.status = CASE
      WHEN operation.kind IN ['create', 'revive', 'episode'] THEN 'deleted'
      WHEN operation.kind IN ['delete', 'quarantine', 'verify', 'release', 'drop'] THEN split(operation.before, '"')[3]
      ELSE memory.status END,
    memory.recorded_to = CASE WHEN operation.kind IN ['create', 'revive', 'episode'] THEN now
      WHEN operation.kind IN ['delete', 'drop'] THEN null ELSE memory.recorded_to END,
    memory.verified = CASE WHEN operation.kind = 'verify' THEN null ELSE memory.verified END,
    memory.claim = CASE WHEN operation.kind = 'verify' THEN null ELSE memory.claim END,
    memory.claim_values = CASE WHEN operation.kind = 'verify' THEN null ELSE memory.claim_values END,
    operation.undone = true, operation.undone_at = now, tenant.seq = tenant.seq + 1
  CREATE (undoing:Operation {
    namespace: $namespace, id: coalesce($newOperationId, randomUUID()), seq: tenant.seq, kind: 'undo',
    actor: $actor, reason: $reason, at: now, run_id: operation.run_id, before: null,
    after: '{"undoes":"' + operation.id + '"}'
  })-[:TOUCHED]->(memory)
  RETURN collect(undoing.seq) AS seqs
}
RETURN memory.id AS id, operation.kind AS kind, refused, head(seqs) AS seq
