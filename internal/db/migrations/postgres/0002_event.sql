-- What happened, one narrow row for each change. seq counts from 1 without a
-- gap inside a workspace. Writers leave it empty and never wait for each
-- other; whoever reads gives the numbers, in the order of id.
-- subject_key and actor_key are 63-bit hashes of workspace and name. Their
-- indexes hold numbered rows only, so that a write touches two indexes.
CREATE TABLE events (
	id          BIGSERIAL PRIMARY KEY,
	ws          TEXT   NOT NULL,
	seq         BIGINT,
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
CREATE UNIQUE INDEX events_seq ON events (ws, seq) WHERE seq IS NOT NULL;
CREATE INDEX events_fresh ON events (ws, id) WHERE seq IS NULL;
CREATE INDEX events_subject ON events (subject_key, seq) WHERE seq IS NOT NULL;
CREATE INDEX events_actor ON events (actor_key, seq) WHERE seq IS NOT NULL;

-- The last number of a workspace. Its row is the lock of those who number.
CREATE TABLE event_counters (
	ws   TEXT   NOT NULL PRIMARY KEY,
	last BIGINT NOT NULL
);
