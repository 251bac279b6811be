// fluxmem.internal.schema() :: (version :: INTEGER, checksum :: STRING, embedding_model :: STRING, dimension :: INTEGER, exchanging :: BOOLEAN)
//
// The schema files applied to this database, and the embedder that its vectors come from.
//
// `exchanging`: `reembed` is putting the vectors of that embedder in the place of others.
//
// mode: READ
// scope: global
CYPHER 25
MATCH (schema:SchemaVersion)
RETURN schema.version AS version, schema.checksum AS checksum, schema.embedding_model AS embedding_model,
  schema.dimension AS dimension, coalesce(schema.exchanging, false) AS exchanging
ORDER BY version
