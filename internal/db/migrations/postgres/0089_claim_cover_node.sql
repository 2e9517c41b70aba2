-- What was claimed of a twin, of all kinds, for when it becomes part of another one.
CREATE INDEX claim_cover_node ON claim_cover (node, kind);
