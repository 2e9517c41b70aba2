-- When the copies and the old bytes of what was erased were gone, 0 while they
-- are not. Earlier certificates were given when they were.
ALTER TABLE erasures ADD COLUMN done_at BIGINT NOT NULL DEFAULT 0;
UPDATE erasures SET done_at = at;
CREATE INDEX erasures_pending ON erasures (nid) WHERE done_at = 0;
