// fluxmem.internal.components() :: (version :: STRING, edition :: STRING)
//
// The server's version and edition.
//
// mode: READ
// scope: global
CYPHER 25
CALL dbms.components() YIELD name, versions, edition
WITH name, versions, edition WHERE name = 'Neo4j Kernel'
RETURN versions[0] AS version, edition
