// What verified facts claim: a write that says another thing about the same is found by its form.
CREATE INDEX memory_claim IF NOT EXISTS FOR (m:Memory) ON (m.namespace, m.claim);
