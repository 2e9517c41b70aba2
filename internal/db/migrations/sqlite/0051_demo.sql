-- The demo programme of a workspace, while it is there. state is loading, ready or
-- removing; job is the one that works on it; counts is what it holds, as JSON.
-- began is the number of the last event before it.
CREATE TABLE demos (
	ws          TEXT   NOT NULL PRIMARY KEY,
	id          TEXT   NOT NULL,
	seed        BIGINT NOT NULL,
	state       TEXT   NOT NULL,
	job         TEXT   NOT NULL,
	actor       TEXT   NOT NULL,
	began       BIGINT NOT NULL,
	started_at  BIGINT NOT NULL,
	finished_at BIGINT NOT NULL,
	took_ms     BIGINT NOT NULL,
	counts      TEXT   NOT NULL,
	project     TEXT   NOT NULL
) WITHOUT ROWID;
