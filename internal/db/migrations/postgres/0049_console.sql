-- Sessions of browsers. hash is the SHA-256 of what the cookie holds. A session
-- has the rights of its key, and ends with it.
CREATE TABLE console_sessions (
	hash       BYTEA  NOT NULL PRIMARY KEY,
	id         TEXT   NOT NULL,
	ws         TEXT   NOT NULL,
	key_id     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	addr       TEXT   NOT NULL,
	agent      TEXT   NOT NULL
);
CREATE UNIQUE INDEX console_sessions_id ON console_sessions (ws, id);
CREATE INDEX console_sessions_key ON console_sessions (ws, key_id, id);
CREATE INDEX console_sessions_seen ON console_sessions (seen_at);

-- Codes that open a session once. hash is the SHA-256 of the code.
CREATE TABLE console_codes (
	hash       BYTEA  NOT NULL PRIMARY KEY,
	ws         TEXT   NOT NULL,
	key_id     TEXT   NOT NULL,
	ends_at    BIGINT NOT NULL
);
CREATE INDEX console_codes_key ON console_codes (ws, key_id);
CREATE INDEX console_codes_end ON console_codes (ends_at);
