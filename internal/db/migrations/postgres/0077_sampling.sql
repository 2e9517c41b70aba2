-- Sample designs with their versions, the newest in the row; frozen frames, in
-- pieces of published lines and of the households behind them; draws from their
-- commitment on, which outlive their design; and what was drawn, with the
-- replacements that follow. A project counts its draws so that two never begin
-- without knowing of each other.
CREATE TABLE sampling_designs (
	nid        BIGINT PRIMARY KEY,
	ws         TEXT   NOT NULL,
	design_id  TEXT   NOT NULL,
	project    TEXT   NOT NULL,
	version    BIGINT NOT NULL,
	deleted_at BIGINT NOT NULL,
	body       TEXT   NOT NULL
);
CREATE UNIQUE INDEX sampling_designs_id ON sampling_designs (ws, design_id);
CREATE INDEX sampling_designs_newest ON sampling_designs (ws, nid);
CREATE INDEX sampling_designs_project ON sampling_designs (ws, project, nid);
CREATE TABLE sampling_versions (
	design  BIGINT NOT NULL,
	version BIGINT NOT NULL,
	body    TEXT   NOT NULL,
	PRIMARY KEY (design, version)
);
CREATE TABLE sampling_frames (
	nid    BIGINT PRIMARY KEY,
	design BIGINT NOT NULL,
	state  TEXT   NOT NULL,
	hash   TEXT   NOT NULL,
	body   TEXT   NOT NULL
);
CREATE INDEX sampling_frames_design ON sampling_frames (design, nid);
CREATE TABLE sampling_pieces (
	frame BIGINT NOT NULL,
	piece BIGINT NOT NULL,
	units TEXT   NOT NULL,
	homes TEXT   NOT NULL,
	PRIMARY KEY (frame, piece)
);
CREATE TABLE sampling_projects (
	ws      TEXT   NOT NULL,
	project TEXT   NOT NULL,
	draws   BIGINT NOT NULL,
	PRIMARY KEY (ws, project)
);
CREATE TABLE sampling_draws (
	nid        BIGINT PRIMARY KEY,
	ws         TEXT   NOT NULL,
	project    TEXT   NOT NULL,
	design     BIGINT NOT NULL,
	frame      BIGINT NOT NULL,
	frame_hash TEXT   NOT NULL,
	survey     TEXT   NOT NULL,
	state      TEXT   NOT NULL,
	sealed     BYTEA   NOT NULL,
	body       TEXT   NOT NULL
);
CREATE INDEX sampling_draws_project ON sampling_draws (ws, project, nid);
CREATE INDEX sampling_draws_frame ON sampling_draws (ws, frame_hash, nid);
CREATE INDEX sampling_draws_survey ON sampling_draws (ws, survey, nid);
CREATE INDEX sampling_draws_design ON sampling_draws (design, nid);
CREATE TABLE sampling_drawn (
	draw      BIGINT NOT NULL,
	place     BIGINT NOT NULL,
	cell      TEXT   NOT NULL,
	unit      TEXT   NOT NULL,
	household TEXT   NOT NULL,
	stratum   TEXT   NOT NULL,
	cluster   TEXT   NOT NULL,
	hash      TEXT   NOT NULL,
	state     TEXT   NOT NULL,
	replaces  TEXT   NOT NULL,
	reason    TEXT   NOT NULL,
	actor     TEXT   NOT NULL,
	at        BIGINT NOT NULL,
	PRIMARY KEY (draw, place)
);
CREATE INDEX sampling_drawn_next ON sampling_drawn (draw, cell, state, place);
CREATE INDEX sampling_drawn_unit ON sampling_drawn (draw, unit);
CREATE INDEX sampling_drawn_household ON sampling_drawn (draw, household);
CREATE INDEX sampling_drawn_state ON sampling_drawn (draw, state, place);
