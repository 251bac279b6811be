// fluxmem.internal.schema() :: (version :: INTEGER, checksum :: STRING, embedding_model :: STRING, dimension :: INTEGER)
//
// The schema files applied to this database, and the embedder that its vectors come from.
//
// mode: READ
// scope: global
CYPHER 25
MATCH (schema:SchemaVersion)
RETURN schema.version AS version, schema.checksum AS checksum, schema.embedding_model AS embedding_model,
  schema.dimension AS dimension
ORDER BY version
