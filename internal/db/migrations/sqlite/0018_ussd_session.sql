-- Handset sessions: one row each, read and written once per key press, so it
-- has few columns. id is session id, number and gateway with the control
-- character U+001F between them, see internal/ussd/key.go; state holds the rest,
-- see record.go there. step counts the writes, so that two instances never take
-- the same step.
CREATE TABLE ussd_sessions (
	id         TEXT   NOT NULL PRIMARY KEY,
	step       BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	state      BLOB   NOT NULL
) WITHOUT ROWID;

-- Walks that were left half way, offered again on the next call.
CREATE TABLE ussd_drafts (
	phone      TEXT   NOT NULL PRIMARY KEY,
	expires_at BIGINT NOT NULL,
	state      BLOB   NOT NULL
) WITHOUT ROWID;
CREATE INDEX ussd_drafts_age ON ussd_drafts (expires_at);

-- What gateways say about a session when it is over. phone is '' when they
-- do not name it.
CREATE TABLE ussd_calls (
	session_id  TEXT   NOT NULL,
	phone       TEXT   NOT NULL,
	gateway     TEXT   NOT NULL,
	status      TEXT   NOT NULL,
	cost        TEXT   NOT NULL,
	network     TEXT   NOT NULL,
	error       TEXT   NOT NULL,
	duration_ms BIGINT NOT NULL,
	hops        BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	PRIMARY KEY (session_id, phone, gateway)
) WITHOUT ROWID;
CREATE INDEX ussd_calls_age ON ussd_calls (at);
CREATE INDEX ussd_calls_phone ON ussd_calls (phone);
