-- The households that devices have left: what a monitor measured there stays
-- theirs.
CREATE INDEX relationships_left ON relationships (ws, dst_did, nid) WHERE removed_at IS NOT NULL AND role = 'household';
