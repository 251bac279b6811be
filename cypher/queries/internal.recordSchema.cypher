// fluxmem.internal.recordSchema(version :: INTEGER, checksum :: STRING, embeddingModel :: STRING, dimension :: INTEGER) :: (version :: INTEGER)
//
// Remember that a schema file was applied, and for which embedder.
//
// mode: WRITE
// scope: global
CYPHER 25
MERGE (schema:SchemaVersion {version: $version})
  ON CREATE SET schema.checksum = $checksum, schema.embedding_model = $embeddingModel,
    schema.dimension = $dimension, schema.applied_at = datetime()
RETURN schema.version AS version
