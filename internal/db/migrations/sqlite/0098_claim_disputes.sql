-- Who disputes a claim and why, what the claim was before, and what was decided.
CREATE TABLE claim_disputes (
	nid        INTEGER PRIMARY KEY,
	ws         TEXT NOT NULL,
	claim      BIGINT NOT NULL,
	at         BIGINT NOT NULL,
	disputer   TEXT NOT NULL,
	reason     TEXT NOT NULL,
	was        TEXT NOT NULL,
	status     TEXT NOT NULL,
	decided_at BIGINT NOT NULL DEFAULT 0,
	decided_by TEXT NOT NULL DEFAULT '',
	answer     TEXT NOT NULL DEFAULT ''
);
CREATE INDEX claim_disputes_claim ON claim_disputes (claim, nid);
CREATE UNIQUE INDEX claim_disputes_open ON claim_disputes (claim) WHERE status = 'open';
