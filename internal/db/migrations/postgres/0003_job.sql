-- Background work. due_at is when a job may be claimed: its time while it is
-- queued, the end of its lease while it runs, NULL once it has finished.
CREATE TABLE jobs (
	nid          BIGINT  PRIMARY KEY,
	id           TEXT    NOT NULL UNIQUE,
	ws           TEXT    NOT NULL,
	kind         TEXT    NOT NULL,
	dedupe       TEXT,
	status       TEXT    NOT NULL,
	payload      TEXT    NOT NULL,
	state        TEXT,
	result       TEXT,
	errors       TEXT,
	done         BIGINT  NOT NULL DEFAULT 0,
	total        BIGINT  NOT NULL DEFAULT 0,
	note         TEXT    NOT NULL DEFAULT '',
	attempts     BIGINT  NOT NULL DEFAULT 0,
	max_attempts BIGINT  NOT NULL,
	due_at       BIGINT,
	owner        TEXT,
	cancel       BOOLEAN NOT NULL DEFAULT FALSE,
	revision     BIGINT  NOT NULL DEFAULT 1,
	created_by   TEXT    NOT NULL,
	caller       TEXT    NOT NULL,
	request_id   TEXT    NOT NULL,
	created_at   BIGINT  NOT NULL,
	started_at   BIGINT,
	finished_at  BIGINT
);

CREATE UNIQUE INDEX jobs_dedupe ON jobs (ws, kind, dedupe) WHERE dedupe IS NOT NULL;
CREATE INDEX jobs_due ON jobs (due_at, kind) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_list ON jobs (ws, nid);
CREATE INDEX jobs_list_status ON jobs (ws, status, nid);
CREATE INDEX jobs_list_kind ON jobs (ws, kind, nid);

-- The last time slot each periodic job was enqueued for.
CREATE TABLE job_slots (
	kind TEXT   PRIMARY KEY,
	slot BIGINT NOT NULL
);
