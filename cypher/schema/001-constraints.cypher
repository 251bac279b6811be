// Identity: every node but a schema version belongs to a namespace and has an id there.
// Community Edition has no existence constraints and uniqueness ignores nulls, so writers refuse null.
CREATE CONSTRAINT namespace_name IF NOT EXISTS FOR (n:Namespace) REQUIRE n.name IS UNIQUE;
CREATE CONSTRAINT memory_id IF NOT EXISTS FOR (m:Memory) REQUIRE (m.namespace, m.id) IS UNIQUE;
CREATE CONSTRAINT memory_key IF NOT EXISTS FOR (m:Memory) REQUIRE (m.namespace, m.key) IS UNIQUE;
CREATE CONSTRAINT step_id IF NOT EXISTS FOR (s:Step) REQUIRE (s.namespace, s.id) IS UNIQUE;
CREATE CONSTRAINT entity_key IF NOT EXISTS FOR (e:Entity) REQUIRE (e.namespace, e.key) IS UNIQUE;
CREATE CONSTRAINT source_uri IF NOT EXISTS FOR (s:Source) REQUIRE (s.namespace, s.uri) IS UNIQUE;
CREATE CONSTRAINT operation_id IF NOT EXISTS FOR (o:Operation) REQUIRE (o.namespace, o.id) IS UNIQUE;
CREATE CONSTRAINT operation_seq IF NOT EXISTS FOR (o:Operation) REQUIRE (o.namespace, o.seq) IS UNIQUE;
CREATE CONSTRAINT schema_version IF NOT EXISTS FOR (v:SchemaVersion) REQUIRE v.version IS UNIQUE;
