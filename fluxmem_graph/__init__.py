"""Long-term memory for LLM agents that lives in Neo4j and rewires itself."""
