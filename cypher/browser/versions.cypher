// The best skill: its versions, and the runs that each was made of.
CYPHER 25
MATCH (best:Procedural {namespace: $namespace})
WITH best ORDER BY best.pems DESC, best.id LIMIT 1
MATCH (version:Procedural {namespace: $namespace, skill_id: best.skill_id})
OPTIONAL MATCH former = (version)-[:SUPERSEDES]->(:Procedural)
OPTIONAL MATCH source = (:Episodic {namespace: $namespace})-[:DISTILLED_INTO]->(version)
RETURN version, former, source LIMIT 300
