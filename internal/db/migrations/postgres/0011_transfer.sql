-- Imports, exports and migrations: what a job was asked for, and how far it
-- has come.
CREATE TABLE transfers (
	job        TEXT   PRIMARY KEY,
	ws         TEXT   NOT NULL,
	kind       TEXT   NOT NULL,
	file       TEXT   NOT NULL,
	settings   TEXT   NOT NULL,
	counts     TEXT   NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX transfers_age ON transfers (created_at);
CREATE INDEX transfers_ws ON transfers (ws, job);

-- What became of each row. Rows that were refused are what people look for.
CREATE TABLE transfer_rows (
	job  TEXT    NOT NULL,
	line BIGINT  NOT NULL,
	ok   BOOLEAN NOT NULL,
	data TEXT    NOT NULL,
	PRIMARY KEY (job, line)
);
CREATE INDEX transfer_rows_refused ON transfer_rows (job, line) WHERE NOT ok;

-- Files that are imported or exported, in pieces that are each compressed.
-- kind is upload until all of an import has arrived. at is when an upload
-- began, and when an export was finished.
CREATE TABLE transfer_files (
	id     TEXT   PRIMARY KEY,
	ws     TEXT   NOT NULL,
	kind   TEXT   NOT NULL,
	job    TEXT   NOT NULL,
	bytes  BIGINT NOT NULL,
	sha256 TEXT   NOT NULL,
	at     BIGINT NOT NULL
);
CREATE INDEX transfer_files_ws ON transfer_files (ws);
CREATE INDEX transfer_files_age ON transfer_files (kind, at, id);

CREATE TABLE transfer_pieces (
	file TEXT   NOT NULL,
	n    BIGINT NOT NULL,
	data BYTEA  NOT NULL,
	PRIMARY KEY (file, n)
);

-- What became of each operation of a batch that is not atomic and has an
-- Idempotency-Key. n is -1 for the batch itself.
CREATE TABLE batch_results (
	batch TEXT   NOT NULL,
	n     BIGINT NOT NULL,
	at    BIGINT NOT NULL,
	data  TEXT   NOT NULL,
	PRIMARY KEY (batch, n)
);
CREATE INDEX batch_results_age ON batch_results (at);
