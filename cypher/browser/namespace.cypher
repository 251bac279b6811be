// Everything that a namespace holds, as a graph.
CYPHER 25
MATCH (memory:Memory {namespace: $namespace})
OPTIONAL MATCH link = (memory)-[]-({namespace: $namespace})
RETURN memory, link LIMIT 300
