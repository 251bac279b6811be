// Why was this used: what the newest steps had in mind, and the links that led there.
CYPHER 25
MATCH had = (run:Episodic {namespace: $namespace})-[:HAS_STEP]->(step:Step)-[activated:ACTIVATED]->(memory:Memory)
WITH had, memory ORDER BY run.started_at DESC, step.index DESC, activated.rank LIMIT 60
OPTIONAL MATCH link = (memory)-[:SUPPORTS|ASSOCIATED|ABOUT|MENTIONS|DISTILLED_INTO]-({namespace: $namespace})
RETURN had, link LIMIT 300
