-- Claims as they were submitted: the document with its CID does not change, the
-- twin of the same number carries on. dedupe is a hash of what the claim type says
-- must be unique; it and the rows of claim_cover go when a claim ends without being
-- approved, which frees its period. claim_cover has a row for the subject of a claim
-- (own = 1) and for everything it is part of, so that one look finds what was
-- claimed of a twin or below it. claim_kinds is a counter a kind of claims, so that
-- two of them know of each other. summed names the claim that has summed this one.
CREATE TABLE claims (
	nid          INTEGER PRIMARY KEY,
	ws           TEXT NOT NULL,
	did          TEXT NOT NULL,
	cid          TEXT NOT NULL,
	project      TEXT NOT NULL,
	type         TEXT NOT NULL,
	kind         TEXT NOT NULL,
	subject      BIGINT NOT NULL,
	subject_did  TEXT NOT NULL,
	claimant     TEXT NOT NULL,
	collection   BIGINT NOT NULL DEFAULT 0,
	starts       BIGINT NOT NULL,
	ends         BIGINT NOT NULL,
	amount       REAL NOT NULL,
	unit         TEXT NOT NULL,
	dedupe       TEXT,
	status       TEXT NOT NULL,
	approved     REAL NOT NULL DEFAULT 0,
	summed       BIGINT NOT NULL DEFAULT 0,
	submitted_at BIGINT NOT NULL,
	document     TEXT NOT NULL
);
CREATE UNIQUE INDEX claims_cid ON claims (ws, cid);
CREATE UNIQUE INDEX claims_dedupe ON claims (ws, kind, dedupe) WHERE dedupe IS NOT NULL;
CREATE INDEX claims_list ON claims (ws, nid);
CREATE INDEX claims_status ON claims (ws, status, nid);
CREATE INDEX claims_subject ON claims (subject, nid);
CREATE INDEX claims_summed ON claims (summed) WHERE summed <> 0;

CREATE TABLE claim_cover (
	ws     TEXT NOT NULL,
	kind   TEXT NOT NULL,
	node   BIGINT NOT NULL,
	ends   BIGINT NOT NULL,
	claim  BIGINT NOT NULL,
	starts BIGINT NOT NULL,
	own    BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, node, ends, claim)
) WITHOUT ROWID;
CREATE INDEX claim_cover_claim ON claim_cover (claim);

CREATE TABLE claim_kinds (
	ws      TEXT NOT NULL,
	kind    TEXT NOT NULL,
	changes BIGINT NOT NULL,
	PRIMARY KEY (ws, kind)
) WITHOUT ROWID;

-- What a twin once was part of.
CREATE INDEX relationships_ended_out ON relationships (src, role, removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX relationships_ended_in ON relationships (dst, role, removed_at) WHERE removed_at IS NOT NULL;
