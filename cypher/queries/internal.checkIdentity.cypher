// fluxmem.internal.checkIdentity(namespace :: STRING) :: (label :: STRING, problem :: STRING, count :: INTEGER, example :: STRING)
//
// Nodes that no statement can find: without a namespace, or of this one and without id, key, layer or status.
//
// Uniqueness ignores nulls and Community has no existence constraints, so an index can't tell. Nodes without a
// namespace belong to nobody: they are counted for every tenant. `example` is an element id.
//
// mode: READ
// scope: global
CYPHER 25
MATCH (node:Memory|Step|Entity|Source|Operation|Namespace)
WITH node, head([label IN ['Memory', 'Step', 'Entity', 'Source', 'Operation', 'Namespace'] WHERE label IN labels(node)])
  AS label
WITH node, label, CASE
    WHEN node.namespace IS NULL THEN 'no namespace'
    WHEN node.namespace <> $namespace THEN null
    WHEN node.id IS NULL THEN 'no id'
    WHEN label = 'Memory' AND node.key IS NULL THEN 'no key'
    WHEN label = 'Memory' AND node.namespace_key IS NULL THEN 'no namespace key'
    WHEN label = 'Memory' AND (node.layer IS NULL OR node.status IS NULL) THEN 'no layer or status'
    WHEN label = 'Operation' AND node.seq IS NULL THEN 'no seq'
    WHEN label = 'Entity' AND node.key IS NULL THEN 'no name key'
    WHEN label = 'Source' AND node.uri IS NULL THEN 'no uri'
  END AS problem
WHERE problem IS NOT NULL
RETURN label, problem, count(*) AS count, head(collect(elementId(node))) AS example
ORDER BY label, problem
