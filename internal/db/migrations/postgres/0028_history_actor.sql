-- Who ever changed a claim does not judge it: found without passing the
-- revisions of others, or those that needed no control of it.
CREATE INDEX entity_history_actor ON entity_history (nid, actor)
	WHERE action NOT IN ('verify', 'transfer', 'relate', 'unrelate', 'certify', 'migrate', 'erase');
