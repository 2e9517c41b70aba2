-- Questions to a user whether a tool that changes something may run with exactly
-- these arguments, and what a user lets tools do without a question.
CREATE TABLE oracle_confirmations (
	run        TEXT   NOT NULL,
	call       TEXT   NOT NULL,
	user_did   TEXT   NOT NULL,
	session    BIGINT NOT NULL,
	tool       TEXT   NOT NULL,
	about      TEXT   NOT NULL,
	args       TEXT   NOT NULL,
	hash       TEXT   NOT NULL,
	state      TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (run, call)
);
CREATE INDEX oracle_confirmations_session ON oracle_confirmations (session, hash);
CREATE INDEX oracle_confirmations_old ON oracle_confirmations (expires_at);

CREATE TABLE oracle_grants (
	user_did   TEXT   NOT NULL,
	tool       TEXT   NOT NULL,
	session    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	PRIMARY KEY (user_did, tool, session)
);
CREATE INDEX oracle_grants_session ON oracle_grants (session);
