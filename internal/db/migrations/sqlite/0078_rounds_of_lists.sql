-- How attempts went in rounds that are over: the row of a household has the
-- newest, and its outcome moves here when another round brings the next. since is
-- the round in which the household came on the list, replacement which one stands
-- in for it and why.
CREATE TABLE survey_outcomes (
	survey    BIGINT NOT NULL,
	round     BIGINT NOT NULL,
	household TEXT   NOT NULL,
	outcome   BIGINT NOT NULL,
	at        BIGINT NOT NULL,
	PRIMARY KEY (survey, round, household)
) WITHOUT ROWID;
ALTER TABLE survey_households ADD COLUMN since BIGINT NOT NULL DEFAULT 0;
ALTER TABLE survey_households ADD COLUMN replacement TEXT NOT NULL DEFAULT '';

-- How many draws of the same frame, and of the project, came before a draw.
ALTER TABLE sampling_draws ADD COLUMN of_frame BIGINT NOT NULL DEFAULT 0;
ALTER TABLE sampling_draws ADD COLUMN of_project BIGINT NOT NULL DEFAULT 0;
UPDATE sampling_draws SET
	of_frame = (SELECT count(*) FROM sampling_draws o WHERE o.ws = sampling_draws.ws AND o.project = sampling_draws.project AND o.frame_hash = sampling_draws.frame_hash AND o.nid < sampling_draws.nid),
	of_project = (SELECT count(*) FROM sampling_draws o WHERE o.ws = sampling_draws.ws AND o.project = sampling_draws.project AND o.nid < sampling_draws.nid);
DROP INDEX sampling_draws_frame;
CREATE INDEX sampling_draws_frame ON sampling_draws (ws, project, frame_hash, nid);

-- Which unit stands in for a replaced one.
ALTER TABLE sampling_drawn ADD COLUMN replaced_by TEXT NOT NULL DEFAULT '';
UPDATE sampling_drawn SET replaced_by = coalesce((SELECT n.unit FROM sampling_drawn n WHERE n.draw = sampling_drawn.draw AND n.replaces = sampling_drawn.unit), '')
	WHERE state = 'replaced';
