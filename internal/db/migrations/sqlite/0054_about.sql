-- What a job is about, so that lists lead there; lists of orders; and cells of
-- files that are imported, for a day, so that people see what was wrong.
ALTER TABLE jobs ADD COLUMN about TEXT NOT NULL DEFAULT '';
UPDATE jobs SET about = '/v1/imports/' || id WHERE kind = 'entity.import';
UPDATE jobs SET about = '/v1/exports/' || id WHERE kind = 'entity.export';
UPDATE jobs SET about = '/v1/migrations/' || id WHERE kind = 'entity.migrate';
UPDATE jobs SET about = COALESCE((SELECT '/v1/surveys/' || s.survey_id || '/exports/' || t.job FROM transfers t JOIN surveys s ON s.nid = t.about WHERE t.job = jobs.id), '')
	WHERE kind = 'survey.export';
UPDATE jobs SET about = COALESCE((SELECT '/v1/surveys/' || s.survey_id || '/imports/' || t.job FROM transfers t JOIN surveys s ON s.nid = t.about WHERE t.job = jobs.id), '')
	WHERE kind = 'survey.import';
CREATE INDEX transfers_list ON transfers (ws, kind, about, job);
CREATE TABLE transfer_cells (
	job  TEXT   NOT NULL,
	line BIGINT NOT NULL,
	last BIGINT NOT NULL,
	ws   TEXT   NOT NULL,
	at   BIGINT NOT NULL,
	data TEXT   NOT NULL,
	PRIMARY KEY (job, line)
) WITHOUT ROWID;
CREATE INDEX transfer_cells_ws ON transfer_cells (ws);
CREATE INDEX transfer_cells_age ON transfer_cells (at);
