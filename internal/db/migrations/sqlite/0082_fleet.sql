-- What all servers on a store have in common, each sealed by the server's own
-- key: who the oracle is, and which key seals PINs. The first server writes it.
CREATE TABLE server_shared (
	name   TEXT PRIMARY KEY,
	sealed BLOB NOT NULL
);

-- The servers that work on a store on PostgreSQL, each with the time of its last
-- beat by the clock of the database. schema is the newest migration its program
-- knows; skew is how far its own clock is ahead, in milliseconds.
CREATE TABLE instances (
	id       TEXT PRIMARY KEY,
	name     TEXT NOT NULL,
	version  TEXT NOT NULL,
	schema   BIGINT NOT NULL,
	started  BIGINT NOT NULL,
	beat     BIGINT NOT NULL,
	skew     BIGINT NOT NULL,
	draining BIGINT NOT NULL
);
