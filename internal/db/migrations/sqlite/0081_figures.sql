-- Figures that were made of a survey, and how often what they are made of has
-- changed: its responses and its list. A figure is kept for the count (and the
-- revision of the survey) it was made at, so that it is never shown for another.
-- Those that could still tell of a response that was taken out or erased go with
-- it; gone counts these. shard spreads the count on PostgreSQL, where rows stay locked until a
-- transaction ends. asked is a hash of the query and of what its caller may see;
-- whole says that the caller may see what single households say.
CREATE TABLE survey_changes (
	survey BIGINT NOT NULL,
	shard  BIGINT NOT NULL,
	n      BIGINT NOT NULL,
	gone   BIGINT NOT NULL,
	PRIMARY KEY (survey, shard)
) WITHOUT ROWID;
INSERT INTO survey_changes (survey, shard, n, gone) SELECT nid, 0, 0, 0 FROM surveys;

CREATE TABLE survey_figures (
	nid      INTEGER PRIMARY KEY,
	survey   BIGINT NOT NULL,
	asked    TEXT   NOT NULL,
	revision BIGINT NOT NULL,
	changes  BIGINT NOT NULL,
	gone     BIGINT NOT NULL,
	job      TEXT   NOT NULL,
	whole    BIGINT NOT NULL,
	body     TEXT   NOT NULL
);
CREATE INDEX survey_figures_asked ON survey_figures (survey, asked, nid);
CREATE INDEX survey_figures_newest ON survey_figures (survey, nid);

CREATE TRIGGER surveys_changes_in AFTER INSERT ON surveys BEGIN
	INSERT INTO survey_changes (survey, shard, n, gone) VALUES (NEW.nid, 0, 0, 0);
END;
CREATE TRIGGER surveys_changes_out AFTER DELETE ON surveys BEGIN
	DELETE FROM survey_changes WHERE survey = OLD.nid;
	DELETE FROM survey_figures WHERE survey = OLD.nid;
END;

CREATE TRIGGER responses_changed_in AFTER INSERT ON responses BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
CREATE TRIGGER responses_changed_out AFTER DELETE ON responses BEGIN
	UPDATE survey_changes SET n = n + 1, gone = gone + 1 WHERE survey = OLD.survey AND shard = 0;
	DELETE FROM survey_figures WHERE survey = OLD.survey;
END;
CREATE TRIGGER responses_changed AFTER UPDATE OF round, household, stratum, grp, status, vstatus, unfit, typed, answers ON responses
	WHEN OLD.round <> NEW.round OR OLD.household <> NEW.household OR OLD.stratum <> NEW.stratum OR OLD.grp <> NEW.grp OR OLD.status <> NEW.status
		OR OLD.vstatus <> NEW.vstatus OR OLD.unfit <> NEW.unfit OR OLD.typed <> NEW.typed OR OLD.answers <> NEW.answers BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
CREATE TRIGGER responses_forgotten AFTER UPDATE OF status, typed ON responses
	WHEN NEW.status = 'redacted' AND OLD.status <> 'redacted' OR NEW.typed = 2 AND OLD.typed <> 2 BEGIN
	UPDATE survey_changes SET gone = gone + 1 WHERE survey = NEW.survey AND shard = 0;
	DELETE FROM survey_figures WHERE survey = NEW.survey;
END;

CREATE TRIGGER survey_households_changed_in AFTER INSERT ON survey_households BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
CREATE TRIGGER survey_households_changed_out AFTER DELETE ON survey_households BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = OLD.survey AND shard = 0;
END;
CREATE TRIGGER survey_households_changed AFTER UPDATE OF stratum, grp, cluster, source, replaces, outcome, outcome_round, since ON survey_households
	WHEN OLD.stratum <> NEW.stratum OR OLD.grp <> NEW.grp OR OLD.cluster <> NEW.cluster OR OLD.source <> NEW.source OR OLD.replaces <> NEW.replaces
		OR OLD.outcome <> NEW.outcome OR OLD.outcome_round <> NEW.outcome_round OR OLD.since <> NEW.since BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
