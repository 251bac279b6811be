// fluxmem.internal.recordEmbedder(embeddingModel :: STRING, dimension :: INTEGER, exchanging :: BOOLEAN) :: (versions :: INTEGER)
//
// Remember which embedder the vectors come from, and whether they are being exchanged.
//
// mode: WRITE
// scope: global
CYPHER 25
MATCH (schema:SchemaVersion)
SET schema.embedding_model = $embeddingModel, schema.dimension = $dimension, schema.exchanging = $exchanging
RETURN count(*) AS versions
