-- What counts of a twin's relationships: SQLite took the indexes of all they ever had,
-- since of two that will do it takes the one made last.
DROP INDEX relationships_out;
CREATE INDEX relationships_out ON relationships (src, nid) WHERE removed_at IS NULL;
DROP INDEX relationships_in;
CREATE INDEX relationships_in ON relationships (dst, nid) WHERE removed_at IS NULL;
DROP INDEX relationships_external;
CREATE INDEX relationships_external ON relationships (ws, dst_did, nid) WHERE dst = 0 AND removed_at IS NULL;
