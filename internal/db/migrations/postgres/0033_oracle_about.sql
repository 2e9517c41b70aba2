-- Whose DIDs a conversation has come to know, and in which turn first: what was
-- said from there on goes when they are erased. Session 0 says that somebody was
-- erased, and turn when: a tool may have read her before.
CREATE TABLE oracle_about (
	did     TEXT   NOT NULL,
	session BIGINT NOT NULL,
	turn    BIGINT NOT NULL,
	PRIMARY KEY (did, session)
);
CREATE INDEX oracle_about_session ON oracle_about (session);

-- A run whose turn was blanked stores nothing of what it still has.
ALTER TABLE oracle_runs ADD COLUMN erased BIGINT NOT NULL DEFAULT 0;
