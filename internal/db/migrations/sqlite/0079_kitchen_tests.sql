-- Kitchen performance tests: what fuel households used over some days. The newest
-- revision stands in the row, all of them in the history. What figures need has
-- columns of its own; the body has what was sent. A project counts its changes, so
-- that two tests of one household never begin without knowing of each other.
CREATE TABLE kpt_tests (
	nid        BIGINT PRIMARY KEY,
	ws         TEXT   NOT NULL,
	kpt_id     TEXT   NOT NULL,
	project    TEXT   NOT NULL,
	household  TEXT   NOT NULL,
	grp        TEXT   NOT NULL,
	fuel       TEXT   NOT NULL,
	unit       TEXT   NOT NULL,
	starts     BIGINT NOT NULL,
	ends       BIGINT NOT NULL,
	days       BIGINT NOT NULL,
	total      REAL   NOT NULL,
	heads      REAL   NOT NULL,
	adults     REAL   NOT NULL,
	documented BIGINT NOT NULL,
	status     TEXT   NOT NULL,
	revision   BIGINT NOT NULL,
	actor      TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	reason     TEXT   NOT NULL,
	body       TEXT   NOT NULL
);
CREATE UNIQUE INDEX kpt_tests_id ON kpt_tests (ws, kpt_id);
CREATE INDEX kpt_tests_newest ON kpt_tests (ws, nid);
CREATE INDEX kpt_tests_project ON kpt_tests (ws, project, nid);
CREATE INDEX kpt_tests_household ON kpt_tests (ws, household, nid);
CREATE INDEX kpt_tests_period ON kpt_tests (ws, project, fuel, status, starts);
CREATE TABLE kpt_history (
	test     BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	actor    TEXT   NOT NULL,
	reason   TEXT   NOT NULL,
	status   TEXT   NOT NULL,
	body     TEXT   NOT NULL,
	PRIMARY KEY (test, revision)
);
CREATE TABLE kpt_projects (
	ws      TEXT   NOT NULL,
	project TEXT   NOT NULL,
	changes BIGINT NOT NULL,
	PRIMARY KEY (ws, project)
);
