-- Exports of responses are kept with those of twins. about is the number of
-- the survey that is exported, 0 for twins. The file of an export belongs to
-- its job from the beginning.
ALTER TABLE transfers ADD COLUMN about BIGINT NOT NULL DEFAULT 0;
INSERT INTO transfers (job, ws, kind, about, file, settings, counts, created_at)
	SELECT job, ws, 'survey.export', survey, file, settings, counts, created_at FROM survey_exports;
DROP TABLE survey_exports;
UPDATE transfer_files SET kind = 'export' WHERE kind = 'survey.export';
UPDATE transfer_files SET job = COALESCE((SELECT t.job FROM transfers t WHERE t.ws = transfer_files.ws AND t.file = transfer_files.id), '')
	WHERE kind = 'export' AND job = '';
