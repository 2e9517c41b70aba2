-- Evaluations of claims: what a rubric said about which facts, and who decided as
-- which oracle. facts of a claim are those that were entered last.
ALTER TABLE claims ADD COLUMN facts TEXT COLLATE "C" NOT NULL DEFAULT '';

CREATE TABLE claim_evaluations (
	nid         BIGINT PRIMARY KEY,
	ws          TEXT COLLATE "C" NOT NULL,
	claim       BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	evaluator   TEXT COLLATE "C" NOT NULL,
	oracle      TEXT COLLATE "C" NOT NULL,
	protocol    TEXT COLLATE "C" NOT NULL,
	version     TEXT COLLATE "C" NOT NULL,
	rubric_hash TEXT COLLATE "C" NOT NULL,
	facts       TEXT COLLATE "C" NOT NULL,
	outcome     TEXT COLLATE "C" NOT NULL,
	reason_code TEXT COLLATE "C" NOT NULL,
	rule        TEXT COLLATE "C" NOT NULL,
	amount      DOUBLE PRECISION NOT NULL,
	status      TEXT COLLATE "C" NOT NULL,
	reason      TEXT COLLATE "C" NOT NULL
);
CREATE INDEX claim_evaluations_claim ON claim_evaluations (claim, nid);
