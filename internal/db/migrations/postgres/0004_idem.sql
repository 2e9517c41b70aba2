-- Answers to requests with an Idempotency-Key. key_hash covers the caller and
-- the key; the answer is sealed, for it may hold a secret that is shown once.
CREATE TABLE idem (
	ws           TEXT   NOT NULL,
	key_hash     BYTEA  NOT NULL,
	request_hash BYTEA  NOT NULL,
	at           BIGINT NOT NULL,
	answer       BYTEA,
	PRIMARY KEY (ws, key_hash)
);

CREATE INDEX idem_at ON idem (at);
