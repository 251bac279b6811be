// Earlier runs: each with its steps in order.
CYPHER 25
MATCH run = (:Episodic {namespace: $namespace})-[:HAS_STEP]->(:Step)
RETURN run LIMIT 300
