// fluxmem.internal.indexes() :: (name :: STRING, state :: STRING, failure :: STRING, dimension :: INTEGER)
//
// Every index and constraint of the database, with the state of its index and its vectors' length.
//
// mode: READ
// scope: global
CYPHER 25
SHOW INDEXES YIELD name, state, failureMessage AS failure, options
RETURN name, state, failure, toInteger(options.indexConfig['vector.dimensions']) AS dimension ORDER BY name
