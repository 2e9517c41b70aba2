-- Files of templates: choices, and values that expressions look up. A content is
-- one row in a workspace, however many versions use it; it goes with the last of
-- them.
CREATE TABLE template_files (
	ws         TEXT   NOT NULL,
	sha256     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	data       BYTEA   NOT NULL,
	PRIMARY KEY (ws, sha256)
);
CREATE TABLE template_file_uses (
	ws          TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	version     BIGINT NOT NULL,
	sha256      TEXT   NOT NULL,
	PRIMARY KEY (ws, template_id, version, sha256)
);
CREATE INDEX template_file_uses_of ON template_file_uses (ws, sha256);
