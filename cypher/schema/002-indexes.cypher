// Retrieval: the tenant, layer and status filters live inside the vector index, and the namespace key inside Lucene,
// so that another tenant's nearer memories never use up a result.
// No quantization: of the ten nearest among 100,000 memories it finds 0.99, SCALAR 0.96, in about the same time.
CREATE VECTOR INDEX memory_embedding IF NOT EXISTS
FOR (m:Memory) ON (m.embedding) WITH [m.namespace, m.layer, m.status]
OPTIONS {indexConfig: {
  `vector.dimensions`: $dimension,
  `vector.similarity_function`: 'cosine',
  `vector.quantization.type`: 'NONE'
}};
CREATE FULLTEXT INDEX memory_text IF NOT EXISTS
FOR (m:Memory) ON EACH [m.text, m.namespace_key, m.layer, m.status]
OPTIONS {indexConfig: {`fulltext.analyzer`: 'english'}};
CREATE INDEX operation_run IF NOT EXISTS FOR (o:Operation) ON (o.namespace, o.run_id);
