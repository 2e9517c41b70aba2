-- The limits of checks, where a survey has its own.
CREATE TABLE quality_rules (
	survey     INTEGER PRIMARY KEY,
	revision   BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	actor      TEXT   NOT NULL,
	data       TEXT   NOT NULL
);

-- What checks over all responses of a round have found. run is the one that may
-- store findings now, job the newest that was asked for; the others are of the
-- last one that has ended. data is '' before.
CREATE TABLE quality_rounds (
	survey      BIGINT NOT NULL,
	round       BIGINT NOT NULL,
	run         BIGINT NOT NULL,
	job         TEXT   NOT NULL,
	newest      BIGINT NOT NULL,
	looked      BIGINT NOT NULL,
	started_at  BIGINT NOT NULL,
	finished_at BIGINT NOT NULL,
	data        TEXT   NOT NULL,
	PRIMARY KEY (survey, round)
) WITHOUT ROWID;

-- Draws of responses to be asked again. cutoff is the newest response that could
-- be drawn. ready is 0 until all that was drawn is stored.
CREATE TABLE back_check_draws (
	nid    INTEGER PRIMARY KEY,
	survey BIGINT NOT NULL,
	round  BIGINT NOT NULL,
	seed   TEXT   NOT NULL,
	actor  TEXT   NOT NULL,
	at     BIGINT NOT NULL,
	cutoff BIGINT NOT NULL,
	ready  BIGINT NOT NULL,
	data   TEXT   NOT NULL
);
CREATE UNIQUE INDEX back_check_draws_seed ON back_check_draws (survey, round, seed);

-- Responses that were drawn. data tells per question whether both answers agree,
-- and never what they are.
CREATE TABLE back_checks (
	nid         INTEGER PRIMARY KEY,
	survey      BIGINT NOT NULL,
	round       BIGINT NOT NULL,
	draw        BIGINT NOT NULL,
	response    BIGINT NOT NULL,
	response_id TEXT   NOT NULL,
	collector   TEXT   NOT NULL,
	state       TEXT   NOT NULL,
	drawn_at    BIGINT NOT NULL,
	done_at     BIGINT NOT NULL,
	checker     TEXT   NOT NULL,
	data        TEXT   NOT NULL
);
CREATE UNIQUE INDEX back_checks_drawn ON back_checks (draw, response);
CREATE INDEX back_checks_list ON back_checks (survey, nid);
CREATE INDEX back_checks_state ON back_checks (survey, state, nid);

-- Sums of them, so that nobody counts. Rows of class 0 hold drawn and done, the
-- others how many answers were compared and how many differ.
CREATE TABLE back_check_counts (
	survey    BIGINT NOT NULL,
	round     BIGINT NOT NULL,
	collector TEXT   NOT NULL,
	class     BIGINT NOT NULL,
	drawn     BIGINT NOT NULL,
	done      BIGINT NOT NULL,
	compared  BIGINT NOT NULL,
	errors    BIGINT NOT NULL,
	PRIMARY KEY (survey, round, collector, class)
) WITHOUT ROWID;
