// fluxmem.internal.forgetSpeakers(namespace :: STRING) :: (left :: INTEGER)
//
// Drop the names of speakers of whom no memory is left.
//
// mode: WRITE
CYPHER 25
CALL () {
  MATCH (memory:Memory)
  WHERE memory.namespace = $namespace AND memory.id IS NOT NULL AND memory.speaker IS NOT NULL
  WITH DISTINCT toLower(memory.speaker) AS speaker
  UNWIND split(speaker, ' ') AS word
  RETURN collect(DISTINCT word) AS heard
}
MATCH (tenant:Namespace {name: $namespace})
SET tenant.speakers = [word IN coalesce(tenant.speakers, []) WHERE word IN heard]
RETURN size(tenant.speakers) AS left
