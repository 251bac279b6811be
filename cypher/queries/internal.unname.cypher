// fluxmem.internal.unname(namespace :: STRING, id :: STRING, episodeId :: STRING, episode = {} :: MAP) :: (unnamed :: BOOLEAN)
//
// Give an episode that a message has opened just now another task if that message is quarantined; always one row.
//
// `id` is the message's; `episode` is a map of task, name, content, words and, for the operation that made it, after.
//
// mode: WRITE
CYPHER 25
CALL () {
  MATCH (message:Memory {namespace: $namespace, id: $id})
  WHERE message.status = 'quarantined'
  MATCH (episode:Memory {namespace: $namespace, id: $episodeId})<-[:TOUCHED]-(operation:Operation {kind: 'episode'})
  WITH episode, operation, $episode AS given
  SET episode += given {.task, .name, .content, .words}, operation.after = given.after
  RETURN count(*) AS changed
}
RETURN changed > 0 AS unnamed
