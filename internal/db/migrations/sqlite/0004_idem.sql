-- Answers to requests with an Idempotency-Key. key_hash covers the caller and
-- the key; the answer is sealed, for it may hold a secret that is shown once.
CREATE TABLE idem (
	ws           TEXT   NOT NULL,
	key_hash     BLOB   NOT NULL,
	request_hash BLOB   NOT NULL,
	at           BIGINT NOT NULL,
	answer       BLOB,
	PRIMARY KEY (ws, key_hash)
);

CREATE INDEX idem_at ON idem (at);
