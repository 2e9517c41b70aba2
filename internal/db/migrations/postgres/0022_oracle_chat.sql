-- What each user of the oracle has. sessions counts chat_sessions, so that a
-- list can tell its total without counting.
CREATE TABLE chat_users (
	user_did TEXT   PRIMARY KEY,
	sessions BIGINT NOT NULL
);

-- Conversations. turns counts messages of the user; run is the newest run, and
-- before the one that had its place.
CREATE TABLE chat_sessions (
	nid        BIGINT PRIMARY KEY,
	user_did   TEXT   NOT NULL,
	id         TEXT   NOT NULL,
	title      TEXT   NOT NULL,
	turns      BIGINT NOT NULL,
	run        TEXT   NOT NULL,
	before     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX chat_sessions_id ON chat_sessions (user_did, id);
CREATE INDEX chat_sessions_newest ON chat_sessions (user_did, updated_at, nid);

-- Messages. A turn begins with what the user said (n = 0). body is the message
-- as clients get it; hidden holds what only the model sees.
CREATE TABLE chat_messages (
	session BIGINT NOT NULL,
	turn    BIGINT NOT NULL,
	n       BIGINT NOT NULL,
	body    TEXT   NOT NULL,
	hidden  TEXT,
	PRIMARY KEY (session, turn, n)
);

-- Tools and actions the user's page has declared; they hold until it declares
-- others.
CREATE TABLE chat_declared (
	session BIGINT PRIMARY KEY,
	body    TEXT   NOT NULL
);

-- Deleted sessions of which rows are left. Nobody sees those: every query asks
-- for the session.
CREATE TABLE chat_trash (
	session BIGINT PRIMARY KEY,
	at      BIGINT NOT NULL
);

-- What users let the oracle do for them, sealed by the server's own key.
CREATE TABLE chat_delegations (
	user_did   TEXT   PRIMARY KEY,
	sealed     BYTEA  NOT NULL,
	expires_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX chat_delegations_expiry ON chat_delegations (expires_at);
