// fluxmem.internal.verifying(namespace :: STRING) :: (verifying :: BOOLEAN)
//
// Whether any fact of a namespace is verified, so that what others claim has to be compared with it.
//
// mode: READ
CYPHER 25
RETURN EXISTS {
  MATCH (fact:Memory) WHERE fact.namespace = $namespace AND fact.claim IS NOT NULL AND fact.status = 'active'
} AS verifying
