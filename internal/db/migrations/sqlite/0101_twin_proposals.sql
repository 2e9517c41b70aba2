-- Twins, and changes of twins, that interviews ask for, until somebody decides. What is
-- asked is sealed with the key of the household.
CREATE TABLE twin_proposals (
	nid         BIGINT NOT NULL PRIMARY KEY,
	ws          TEXT   NOT NULL,
	survey      BIGINT NOT NULL,
	response_id TEXT   NOT NULL,
	household   TEXT   NOT NULL,
	list        TEXT   NOT NULL,
	action      TEXT   NOT NULL,
	twin        TEXT   NOT NULL,
	base        BIGINT NOT NULL,
	trunk       BIGINT NOT NULL,
	branch      TEXT   NOT NULL,
	at          BIGINT NOT NULL,
	status      TEXT   NOT NULL,
	conflict    TEXT   NOT NULL DEFAULT '',
	revision    BIGINT NOT NULL DEFAULT 0,
	decided_at  BIGINT NOT NULL DEFAULT 0,
	decided_by  TEXT   NOT NULL DEFAULT '',
	reason      TEXT   NOT NULL DEFAULT '',
	sealed      BLOB NOT NULL
);
CREATE UNIQUE INDEX twin_proposals_of ON twin_proposals (ws, response_id, action);
CREATE INDEX twin_proposals_survey ON twin_proposals (survey, status, nid);
CREATE INDEX twin_proposals_branch ON twin_proposals (ws, twin, branch, base, nid);
CREATE INDEX twin_proposals_household ON twin_proposals (ws, household);
