// fluxmem.internal.published() :: (name :: STRING, signature :: STRING)
//
// The procedures of fluxmem that the server has loaded.
//
// mode: READ
// scope: global
CYPHER 25
SHOW PROCEDURES YIELD name, signature WHERE name STARTS WITH 'fluxmem.'
RETURN name, signature ORDER BY name
