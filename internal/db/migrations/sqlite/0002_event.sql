-- What happened, one narrow row for each change. seq counts from 1 without a
-- gap inside a workspace; the insert gives it, for there is one writer.
-- subject_key and actor_key are 63-bit hashes of workspace and name: an index
-- row of three numbers is half the work of one with two texts.
CREATE TABLE events (
	id          INTEGER PRIMARY KEY,
	ws          TEXT   NOT NULL,
	seq         BIGINT NOT NULL,
	type        TEXT   NOT NULL,
	subject     TEXT   NOT NULL,
	revision    BIGINT NOT NULL,
	actor       TEXT   NOT NULL,
	request_id  TEXT   NOT NULL,
	at          BIGINT NOT NULL,
	data        TEXT   NOT NULL,
	subject_key BIGINT NOT NULL,
	actor_key   BIGINT NOT NULL
);
CREATE UNIQUE INDEX events_seq ON events (ws, seq);
CREATE INDEX events_subject ON events (subject_key, seq);
CREATE INDEX events_actor ON events (actor_key, seq);

-- The last number of a workspace. Only PostgreSQL, where whoever reads gives
-- the numbers, has rows here.
CREATE TABLE event_counters (
	ws   TEXT   NOT NULL PRIMARY KEY,
	last BIGINT NOT NULL
);
