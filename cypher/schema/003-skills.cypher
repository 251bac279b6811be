// Skills: the versions of one, those that are activated directly, and the episodes that they come from, page by page.
CREATE INDEX skill_versions IF NOT EXISTS FOR (s:Procedural) ON (s.namespace, s.skill_id);
CREATE INDEX skill_settled IF NOT EXISTS FOR (s:Procedural) ON (s.namespace, s.settled);
CREATE INDEX episodic_id IF NOT EXISTS FOR (e:Episodic) ON (e.namespace, e.id);
