// fluxmem.internal.indexes() :: (name :: STRING, state :: STRING, failure :: STRING)
//
// Every index and constraint of the database, with the state of its index.
//
// mode: READ
// scope: global
CYPHER 25
SHOW INDEXES YIELD name, state, failureMessage AS failure
RETURN name, state, failure ORDER BY name
