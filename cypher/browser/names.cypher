// Facts that are tied together by the names they share.
CYPHER 25
MATCH tie = (:Semantic {namespace: $namespace})-[:ABOUT|MENTIONS]->(:Entity {namespace: $namespace})
  <-[:ABOUT|MENTIONS]-(:Semantic {namespace: $namespace})
RETURN tie LIMIT 300
