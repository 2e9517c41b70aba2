-- Interviews that collectors have begun and not sent, sealed as answers are.
CREATE TABLE response_drafts (
	nid         BIGINT NOT NULL PRIMARY KEY,
	ws          TEXT   NOT NULL,
	survey      BIGINT NOT NULL,
	owner       TEXT   NOT NULL,
	response_id TEXT   NOT NULL,
	household   TEXT   NOT NULL,
	revision    BIGINT NOT NULL,
	saved_at    BIGINT NOT NULL,
	sealed      BLOB   NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX response_drafts_one ON response_drafts (survey, owner, response_id);
CREATE INDEX response_drafts_own ON response_drafts (ws, owner, nid);
CREATE INDEX response_drafts_household ON response_drafts (ws, household);
CREATE INDEX response_drafts_old ON response_drafts (saved_at);
