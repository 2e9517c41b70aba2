-- Exports of responses: what a job was asked for, and how far it has come. The
-- file is in transfer_files.
CREATE TABLE survey_exports (
	job        TEXT   PRIMARY KEY,
	ws         TEXT   NOT NULL,
	survey     BIGINT NOT NULL,
	file       TEXT   NOT NULL,
	settings   TEXT   NOT NULL,
	counts     TEXT   NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE INDEX survey_exports_age ON survey_exports (created_at);
CREATE INDEX survey_exports_ws ON survey_exports (ws, job);
