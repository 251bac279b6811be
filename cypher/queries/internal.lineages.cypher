// fluxmem.internal.lineages(namespace :: STRING) :: (skill_id :: STRING, version :: INTEGER, live :: BOOLEAN, name :: STRING, pems :: FLOAT, sources :: LIST<STRING>)
//
// Skills as families of versions: the highest number, whether one is in use or waiting, and all their runs.
//
// One whose versions were deleted is there too, and is not made again of the same runs; one that was undone is not.
//
// mode: READ
CYPHER 25
MATCH (version:Procedural)
WHERE version.namespace = $namespace AND version.skill_id IS NOT NULL
WITH version, version.status = 'deleted' AND EXISTS {
  (version)<-[:TOUCHED {created: true}]-(operation:Operation) WHERE operation.undone } AS undone
ORDER BY version.version DESC
WITH version.skill_id AS skill_id, max(version.version) AS version,
  collect(CASE WHEN NOT undone THEN version END) AS versions
WHERE size(versions) > 0
RETURN skill_id, version, any(version IN versions WHERE version.status IN ['active', 'candidate']) AS live,
  head(versions).name AS name, head(versions).pems AS pems, COLLECT {
    UNWIND versions AS member
    MATCH (episode:Memory)-[:DISTILLED_INTO]->(member)
    RETURN DISTINCT episode.id AS id ORDER BY id
  } AS sources
ORDER BY skill_id
