// fluxmem.internal.skillOf(namespace :: STRING, id :: STRING) :: (skill_id :: STRING)
//
// Which skill a version belongs to.
//
// mode: READ
CYPHER 25
MATCH (version:Memory {namespace: $namespace, id: $id})
WHERE version.layer = 'procedural'
RETURN version.skill_id AS skill_id
