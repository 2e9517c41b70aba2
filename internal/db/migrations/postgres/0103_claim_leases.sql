-- Who has taken which claim to decide about it, and until when; and what waits.
CREATE TABLE claim_leases (
	claim  BIGINT PRIMARY KEY,
	ws     TEXT NOT NULL,
	holder TEXT NOT NULL,
	until  BIGINT NOT NULL
);
CREATE INDEX claim_leases_until ON claim_leases (ws, until);
CREATE INDEX claim_leases_holder ON claim_leases (ws, holder);
CREATE INDEX claims_waiting ON claims (ws, nid) WHERE status IN ('pending', 'flagged');
