-- A counter is spread over rows, each locked until its transaction has ended. Each
-- connection of a server says which row is its own, so that nobody waits for it;
-- one that says nothing, behind a pooler perhaps, takes one by its process.
CREATE FUNCTION counter_shard() RETURNS BIGINT LANGUAGE sql STABLE AS $$
	SELECT coalesce(nullif(current_setting('hearth.shard', true), '')::bigint, pg_backend_pid() % 64)
$$;

CREATE OR REPLACE FUNCTION entities_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'entity', OLD.type, OLD.status, counter_shard(), -1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'entity', NEW.type, NEW.status, counter_shard(), 1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION responses_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'response', OLD.status, OLD.vstatus, counter_shard(), -1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'response', NEW.status, NEW.vstatus, counter_shard(), 1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION jobs_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'job', OLD.kind, OLD.status, counter_shard(), -1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'job', NEW.kind, NEW.status, counter_shard(), 1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION responses_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		IF OLD.vstatus NOT IN ('superseded', 'invalidated') THEN
			INSERT INTO survey_days (survey, round, day, status, shard, n) VALUES (OLD.survey, OLD.round, OLD.submitted_at / 86400000, OLD.status, counter_shard(), -1)
				ON CONFLICT (survey, round, day, status, shard) DO UPDATE SET n = survey_days.n + excluded.n;
		END IF;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		IF NEW.vstatus NOT IN ('superseded', 'invalidated') THEN
			INSERT INTO survey_days (survey, round, day, status, shard, n) VALUES (NEW.survey, NEW.round, NEW.submitted_at / 86400000, NEW.status, counter_shard(), 1)
				ON CONFLICT (survey, round, day, status, shard) DO UPDATE SET n = survey_days.n + excluded.n;
		END IF;
	END IF;
	RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION survey_changed() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP = 'DELETE' THEN
		INSERT INTO survey_changes (survey, shard, n, gone) SELECT nid, counter_shard(), 1, 0 FROM surveys WHERE nid = OLD.survey
			ON CONFLICT (survey, shard) DO UPDATE SET n = survey_changes.n + 1;
	ELSE
		INSERT INTO survey_changes (survey, shard, n, gone) VALUES (NEW.survey, counter_shard(), 1, 0)
			ON CONFLICT (survey, shard) DO UPDATE SET n = survey_changes.n + 1;
	END IF;
	RETURN NULL;
END $$;

CREATE OR REPLACE FUNCTION responses_forgotten() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO survey_changes (survey, shard, n, gone) SELECT nid, counter_shard(), 0, 1 FROM surveys WHERE nid = OLD.survey
		ON CONFLICT (survey, shard) DO UPDATE SET gone = survey_changes.gone + 1;
	DELETE FROM survey_figures WHERE survey = OLD.survey;
	RETURN NULL;
END $$;
