// What the newest learned link was taught: the operations that voted on it; `explain` gives the numbers.
CYPHER 25
MATCH (memory:Memory {namespace: $namespace})-[link:SUPPORTS|ASSOCIATED]->(other:Memory {namespace: $namespace})
WITH memory, link, other ORDER BY link.updated_at DESC, type(link) DESC, memory.id LIMIT 1
MATCH vote = (operation:Operation)-[voted:TOUCHED {link: type(link)}]->(memory)
WHERE voted.other = other.id OR (voted.other IS NULL AND EXISTS { (operation)-[:TOUCHED]->(other) })
MATCH told = (operation)-[:TOUCHED]->(:Episodic|Step)
RETURN memory, link, other, vote, told LIMIT 300
