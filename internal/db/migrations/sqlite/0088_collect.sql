-- Submissions of ODK Collect that wait for their files, sealed with the key of
-- the household, and the files of these that are here.
CREATE TABLE collect_waiting (
	nid       BIGINT NOT NULL PRIMARY KEY,
	ws        TEXT   NOT NULL,
	sender    TEXT   NOT NULL,
	instance  TEXT   NOT NULL,
	survey_id TEXT   NOT NULL,
	project   TEXT   NOT NULL,
	household TEXT   NOT NULL,
	at        BIGINT NOT NULL,
	sealed    BLOB   NOT NULL
);
CREATE UNIQUE INDEX collect_waiting_of ON collect_waiting (ws, sender, instance);
CREATE INDEX collect_waiting_at ON collect_waiting (at);
CREATE INDEX collect_waiting_household ON collect_waiting (ws, household);
CREATE TABLE collect_files (
	ws       TEXT NOT NULL,
	sender   TEXT NOT NULL,
	instance TEXT NOT NULL,
	name     TEXT NOT NULL,
	sha256   TEXT NOT NULL,
	PRIMARY KEY (ws, sender, instance, name)
);
