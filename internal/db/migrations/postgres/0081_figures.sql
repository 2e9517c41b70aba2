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
);
INSERT INTO survey_changes (survey, shard, n, gone) SELECT nid, 0, 0, 0 FROM surveys;

CREATE TABLE survey_figures (
	nid      BIGINT PRIMARY KEY,
	survey   BIGINT NOT NULL,
	asked    TEXT   COLLATE "C" NOT NULL,
	revision BIGINT NOT NULL,
	changes  BIGINT NOT NULL,
	gone     BIGINT NOT NULL,
	job      TEXT   COLLATE "C" NOT NULL,
	whole    BIGINT NOT NULL,
	body     TEXT   COLLATE "C" NOT NULL
);
CREATE INDEX survey_figures_asked ON survey_figures (survey, asked, nid);
CREATE INDEX survey_figures_newest ON survey_figures (survey, nid);

CREATE FUNCTION surveys_changes() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'INSERT' THEN
		INSERT INTO survey_changes (survey, shard, n, gone) VALUES (NEW.nid, 0, 0, 0);
	ELSE
		DELETE FROM survey_changes WHERE survey = OLD.nid;
		DELETE FROM survey_figures WHERE survey = OLD.nid;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER surveys_changes AFTER INSERT OR DELETE ON surveys FOR EACH ROW EXECUTE FUNCTION surveys_changes();

CREATE FUNCTION survey_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		INSERT INTO survey_changes (survey, shard, n, gone) SELECT nid, pg_backend_pid() % 64, 1, 0 FROM surveys WHERE nid = OLD.survey
			ON CONFLICT (survey, shard) DO UPDATE SET n = survey_changes.n + 1;
	ELSE
		INSERT INTO survey_changes (survey, shard, n, gone) VALUES (NEW.survey, pg_backend_pid() % 64, 1, 0)
			ON CONFLICT (survey, shard) DO UPDATE SET n = survey_changes.n + 1;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER responses_changed_in AFTER INSERT OR DELETE ON responses FOR EACH ROW EXECUTE FUNCTION survey_changed();
CREATE TRIGGER responses_changed AFTER UPDATE OF round, household, stratum, grp, status, vstatus, unfit, typed, answers ON responses
	FOR EACH ROW
	WHEN (OLD.round <> NEW.round OR OLD.household <> NEW.household OR OLD.stratum <> NEW.stratum OR OLD.grp <> NEW.grp OR OLD.status <> NEW.status
		OR OLD.vstatus <> NEW.vstatus OR OLD.unfit <> NEW.unfit OR OLD.typed <> NEW.typed OR OLD.answers <> NEW.answers) EXECUTE FUNCTION survey_changed();
CREATE TRIGGER survey_households_changed_in AFTER INSERT OR DELETE ON survey_households FOR EACH ROW EXECUTE FUNCTION survey_changed();
CREATE TRIGGER survey_households_changed AFTER UPDATE OF stratum, grp, cluster, source, replaces, outcome, outcome_round, since ON survey_households
	FOR EACH ROW
	WHEN (OLD.stratum <> NEW.stratum OR OLD.grp <> NEW.grp OR OLD.cluster <> NEW.cluster OR OLD.source <> NEW.source OR OLD.replaces <> NEW.replaces
		OR OLD.outcome <> NEW.outcome OR OLD.outcome_round <> NEW.outcome_round OR OLD.since <> NEW.since) EXECUTE FUNCTION survey_changed();

CREATE FUNCTION responses_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO survey_changes (survey, shard, n, gone) SELECT nid, pg_backend_pid() % 64, 0, 1 FROM surveys WHERE nid = OLD.survey
		ON CONFLICT (survey, shard) DO UPDATE SET gone = survey_changes.gone + 1;
	DELETE FROM survey_figures WHERE survey = OLD.survey;
	RETURN NULL;
END $$;
CREATE TRIGGER responses_forgotten_out AFTER DELETE ON responses FOR EACH ROW EXECUTE FUNCTION responses_forgotten();
CREATE TRIGGER responses_forgotten AFTER UPDATE OF status, typed ON responses FOR EACH ROW
	WHEN (NEW.status = 'redacted' AND OLD.status <> 'redacted' OR NEW.typed = 2 AND OLD.typed <> 2) EXECUTE FUNCTION responses_forgotten();
