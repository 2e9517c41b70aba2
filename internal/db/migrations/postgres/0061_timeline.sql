-- What happened to one twin is read newest first: relationships by when they began
-- and ended, interviews by household, days by household and by stove.
CREATE INDEX relationships_began_out ON relationships (src, added_at, nid);
CREATE INDEX relationships_began_in ON relationships (dst, added_at, nid);
DROP INDEX relationships_past_out;
DROP INDEX relationships_past_in;
CREATE INDEX relationships_past_out ON relationships (src, removed_at, nid) WHERE removed_at IS NOT NULL;
CREATE INDEX relationships_past_in ON relationships (dst, removed_at, nid) WHERE removed_at IS NOT NULL;
CREATE INDEX responses_timeline ON responses (ws, household, submitted_at, nid);
CREATE INDEX device_days_household ON device_days (ws, household, day, device, part) WHERE household <> '';
CREATE INDEX device_days_stove ON device_days (ws, stove, day, device, part) WHERE stove <> '';
