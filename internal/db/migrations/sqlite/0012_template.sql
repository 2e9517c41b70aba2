-- Templates: the questionnaires surveys ask. One row for each template of a
-- workspace: what lists show, and what a change of any of its versions locks.
-- version is the one that is shown and used when none is named, latest the
-- newest, drafts too. revision counts the changes of all versions. summary is
-- the line of the list.
CREATE TABLE templates (
	ws          TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	nid         BIGINT NOT NULL,
	version     BIGINT NOT NULL,
	latest      BIGINT NOT NULL,
	revision    BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	summary     TEXT   NOT NULL,
	PRIMARY KEY (ws, template_id)
);
CREATE UNIQUE INDEX templates_list ON templates (ws, nid);

-- A version is one row; body is the record as it is sent. Published ones never
-- change but in their status. revision is that of the template when this
-- version changed last, so that no two versions of a template share an ETag.
CREATE TABLE template_versions (
	ws          TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	version     BIGINT NOT NULL,
	status      TEXT   NOT NULL,
	revision    BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	body        TEXT   NOT NULL,
	PRIMARY KEY (ws, template_id, version)
);

-- Reviews of the suitability of a template, shipped ones too, which have no
-- row above. Rows are only added. at is when it was reviewed.
CREATE TABLE template_reviews (
	ws          TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	at          BIGINT NOT NULL,
	nid         BIGINT NOT NULL,
	body        TEXT   NOT NULL,
	PRIMARY KEY (ws, template_id, at, nid)
);
