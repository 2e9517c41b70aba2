-- Runs: the work on one message. owner is the instance that has it, '' when it
-- has ended or its session is deleted; idem and hash are the key the caller
-- gave it and what was asked under it. last_seq and end_seq are the ids of the
-- last frame and of the first one of the end.
CREATE TABLE oracle_runs (
	nid        BIGINT PRIMARY KEY,
	id         TEXT   NOT NULL,
	user_did   TEXT   NOT NULL,
	session    BIGINT NOT NULL,
	turn       BIGINT NOT NULL,
	request_id TEXT   NOT NULL,
	owner      TEXT   NOT NULL,
	status     TEXT   NOT NULL,
	abort      TEXT   NOT NULL,
	idem       TEXT,
	hash       BYTEA,
	usage      TEXT,
	last_seq   BIGINT NOT NULL,
	end_seq    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	ended_at   BIGINT,
	swept      BIGINT NOT NULL
);
CREATE UNIQUE INDEX oracle_runs_id ON oracle_runs (id);
CREATE UNIQUE INDEX oracle_runs_key ON oracle_runs (session, idem) WHERE idem IS NOT NULL;
CREATE INDEX oracle_runs_session ON oracle_runs (session, nid);
CREATE INDEX oracle_runs_live ON oracle_runs (user_did) WHERE ended_at IS NULL;
CREATE INDEX oracle_runs_owner ON oracle_runs (owner, nid) WHERE owner <> '';
CREATE INDEX oracle_runs_ended ON oracle_runs (swept, ended_at) WHERE ended_at IS NOT NULL;

-- Frames as they go on the wire: a row holds those from seq to upto.
CREATE TABLE oracle_frames (
	run  BIGINT NOT NULL,
	seq  BIGINT NOT NULL,
	upto BIGINT NOT NULL,
	data TEXT   NOT NULL,
	PRIMARY KEY (run, seq)
);

-- Instances at work. One whose beat is old is dead, and its runs are ended by
-- the others.
CREATE TABLE oracle_instances (
	id      TEXT   PRIMARY KEY,
	beat_at BIGINT NOT NULL
);
CREATE INDEX oracle_instances_age ON oracle_instances (beat_at);
