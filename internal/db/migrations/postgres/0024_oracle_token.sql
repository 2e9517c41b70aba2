-- Tokens that are good for one use and were used. hash is the same for every
-- spelling of a token; bound names the request that used it, which may come
-- again. Rows are kept until the token ends.
CREATE TABLE oracle_used_tokens (
	hash  BYTEA NOT NULL PRIMARY KEY,
	until BIGINT NOT NULL,
	bound BYTEA NOT NULL
);

CREATE INDEX oracle_used_tokens_until ON oracle_used_tokens (until);
