// Skills with the runs that they were distilled from.
CYPHER 25
MATCH source = (:Episodic {namespace: $namespace})-[:DISTILLED_INTO]->(:Procedural {namespace: $namespace})
RETURN source LIMIT 300
