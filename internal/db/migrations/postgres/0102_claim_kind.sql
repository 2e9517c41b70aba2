-- Past claims of a kind, in the order they were submitted: what a rubric is tried on.
CREATE INDEX claims_kind ON claims (ws, kind, nid);
