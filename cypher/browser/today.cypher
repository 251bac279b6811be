// What changed in the last day: operations, and what each touched.
CYPHER 25
MATCH (operation:Operation {namespace: $namespace})
WHERE operation.at >= datetime() - duration('P1D')
WITH operation ORDER BY operation.seq DESC LIMIT 100
OPTIONAL MATCH touched = (operation)-[:TOUCHED]->()
RETURN operation, touched LIMIT 300
