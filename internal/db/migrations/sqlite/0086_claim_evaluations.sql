-- Evaluations of claims: what a rubric said about which facts, and who decided as
-- which oracle. facts of a claim are those that were entered last.
ALTER TABLE claims ADD COLUMN facts TEXT NOT NULL DEFAULT '';

CREATE TABLE claim_evaluations (
	nid         INTEGER PRIMARY KEY,
	ws          TEXT NOT NULL,
	claim       BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	evaluator   TEXT NOT NULL,
	oracle      TEXT NOT NULL,
	protocol    TEXT NOT NULL,
	version     TEXT NOT NULL,
	rubric_hash TEXT NOT NULL,
	facts       TEXT NOT NULL,
	outcome     TEXT NOT NULL,
	reason_code TEXT NOT NULL,
	rule        TEXT NOT NULL,
	amount      REAL NOT NULL,
	status      TEXT NOT NULL,
	reason      TEXT NOT NULL
);
CREATE INDEX claim_evaluations_claim ON claim_evaluations (claim, nid);
