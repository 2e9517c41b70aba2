-- Campaigns. body is the record as it is sent, all but its progress; the rev_
-- columns tell of its newest revision. touched is what a change of the list of
-- households locks.
CREATE TABLE surveys (
	nid         BIGINT PRIMARY KEY,
	ws          TEXT   NOT NULL,
	survey_id   TEXT   NOT NULL,
	project     TEXT   NOT NULL,
	stage       TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	status      TEXT   NOT NULL,
	revision    BIGINT NOT NULL,
	touched     BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	rev_action  TEXT   NOT NULL,
	rev_actor   TEXT   NOT NULL,
	rev_request TEXT   NOT NULL,
	rev_reason  TEXT   NOT NULL,
	body        TEXT   NOT NULL
);
CREATE UNIQUE INDEX surveys_id ON surveys (ws, survey_id);
CREATE UNIQUE INDEX surveys_list ON surveys (ws, nid);
CREATE INDEX surveys_project ON surveys (ws, project, nid);
CREATE INDEX surveys_active ON surveys (ws, template_id, nid) WHERE status = 'active';

-- Earlier revisions, each as it was sent.
CREATE TABLE survey_history (
	survey   BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	action   TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	request  TEXT   NOT NULL,
	reason   TEXT   NOT NULL,
	body     TEXT   NOT NULL,
	PRIMARY KEY (survey, revision)
);

-- The households of a campaign. grp: 0 none, 1 adopter, 2 comparison. outcome:
-- 0 listed, 1 contacted, 2 completed, 3 refused, 4 unreachable, in outcome_round;
-- in any later round it is listed again. collector is '' unless one was named for
-- this very household. area is free. attributes is a JSON object or ''.
CREATE TABLE survey_households (
	survey        BIGINT NOT NULL,
	household     TEXT   COLLATE "C" NOT NULL,
	stratum       TEXT   NOT NULL,
	grp           BIGINT NOT NULL,
	area          TEXT   NOT NULL,
	collector     TEXT   NOT NULL,
	outcome       BIGINT NOT NULL,
	outcome_round BIGINT NOT NULL,
	outcome_at    BIGINT NOT NULL,
	lat           DOUBLE PRECISION,
	lon           DOUBLE PRECISION,
	attributes    TEXT   NOT NULL,
	rev           BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL,
	PRIMARY KEY (survey, household)
);
CREATE INDEX survey_households_of ON survey_households (household, survey);
CREATE INDEX survey_households_collector ON survey_households (survey, collector, household) WHERE collector <> '';

-- Counters of a campaign, so that nobody counts. Rows of round 0 hold listed,
-- the others what happened in that round. shard spreads one counter over several
-- rows: many responses at once do not wait for each other.
CREATE TABLE survey_counts (
	survey      BIGINT NOT NULL,
	round       BIGINT NOT NULL,
	stratum     TEXT   COLLATE "C" NOT NULL,
	grp         BIGINT NOT NULL,
	shard       BIGINT NOT NULL,
	listed      BIGINT NOT NULL,
	contacted   BIGINT NOT NULL,
	refused     BIGINT NOT NULL,
	unreachable BIGINT NOT NULL,
	completed   BIGINT NOT NULL,
	partial     BIGINT NOT NULL,
	verified    BIGINT NOT NULL,
	rejected    BIGINT NOT NULL,
	flagged     BIGINT NOT NULL,
	PRIMARY KEY (survey, round, stratum, grp, shard)
) WITH (fillfactor = 50);
