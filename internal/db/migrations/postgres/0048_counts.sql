-- Counters, so that nobody counts: of twins by type and status, of responses by
-- status and verification, of jobs by kind and status. The triggers keep them in
-- the transaction of what is counted. shard spreads a counter on PostgreSQL, where
-- rows stay locked until a transaction ends: each connection has its own.
CREATE TABLE counts (
	ws    TEXT   COLLATE "C" NOT NULL,
	kind  TEXT   COLLATE "C" NOT NULL,
	part  TEXT   COLLATE "C" NOT NULL,
	state TEXT   COLLATE "C" NOT NULL,
	shard BIGINT NOT NULL,
	n     BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, part, state, shard)
);

-- Responses of a round by the day (from 1970, UTC) they were submitted on; not
-- those that were superseded or invalidated.
CREATE TABLE survey_days (
	survey BIGINT NOT NULL,
	round  BIGINT NOT NULL,
	day    BIGINT NOT NULL,
	status TEXT   COLLATE "C" NOT NULL,
	shard  BIGINT NOT NULL,
	n      BIGINT NOT NULL,
	PRIMARY KEY (survey, round, day, status, shard)
);

INSERT INTO counts (ws, kind, part, state, shard, n) SELECT ws, 'entity', type, status, 0, count(*) FROM entities GROUP BY ws, type, status;
INSERT INTO counts (ws, kind, part, state, shard, n) SELECT ws, 'response', status, vstatus, 0, count(*) FROM responses GROUP BY ws, status, vstatus;
INSERT INTO counts (ws, kind, part, state, shard, n) SELECT ws, 'job', kind, status, 0, count(*) FROM jobs GROUP BY ws, kind, status;
INSERT INTO survey_days (survey, round, day, status, shard, n) SELECT survey, round, submitted_at / 86400000, status, 0, count(*) FROM responses
	WHERE vstatus NOT IN ('superseded', 'invalidated') GROUP BY 1, 2, 3, 4;

CREATE FUNCTION entities_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'entity', OLD.type, OLD.status, pg_backend_pid() % 16, -1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'entity', NEW.type, NEW.status, pg_backend_pid() % 16, 1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER entities_count AFTER INSERT OR DELETE ON entities FOR EACH ROW EXECUTE FUNCTION entities_count();
CREATE TRIGGER entities_count_move AFTER UPDATE OF type, status ON entities FOR EACH ROW WHEN (OLD.type <> NEW.type OR OLD.status <> NEW.status) EXECUTE FUNCTION entities_count();

CREATE FUNCTION responses_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'response', OLD.status, OLD.vstatus, pg_backend_pid() % 16, -1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'response', NEW.status, NEW.vstatus, pg_backend_pid() % 16, 1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER responses_count AFTER INSERT OR DELETE ON responses FOR EACH ROW EXECUTE FUNCTION responses_count();
CREATE TRIGGER responses_count_move AFTER UPDATE OF status, vstatus ON responses FOR EACH ROW WHEN (OLD.status <> NEW.status OR OLD.vstatus <> NEW.vstatus) EXECUTE FUNCTION responses_count();

CREATE FUNCTION jobs_count() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'job', OLD.kind, OLD.status, pg_backend_pid() % 16, -1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'job', NEW.kind, NEW.status, pg_backend_pid() % 16, 1)
			ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = counts.n + excluded.n;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER jobs_count AFTER INSERT OR DELETE ON jobs FOR EACH ROW EXECUTE FUNCTION jobs_count();
CREATE TRIGGER jobs_count_move AFTER UPDATE OF kind, status ON jobs FOR EACH ROW WHEN (OLD.kind <> NEW.kind OR OLD.status <> NEW.status) EXECUTE FUNCTION jobs_count();

CREATE FUNCTION responses_day() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	IF TG_OP <> 'INSERT' THEN
		IF OLD.vstatus NOT IN ('superseded', 'invalidated') THEN
			INSERT INTO survey_days (survey, round, day, status, shard, n) VALUES (OLD.survey, OLD.round, OLD.submitted_at / 86400000, OLD.status, pg_backend_pid() % 16, -1)
				ON CONFLICT (survey, round, day, status, shard) DO UPDATE SET n = survey_days.n + excluded.n;
		END IF;
	END IF;
	IF TG_OP <> 'DELETE' THEN
		IF NEW.vstatus NOT IN ('superseded', 'invalidated') THEN
			INSERT INTO survey_days (survey, round, day, status, shard, n) VALUES (NEW.survey, NEW.round, NEW.submitted_at / 86400000, NEW.status, pg_backend_pid() % 16, 1)
				ON CONFLICT (survey, round, day, status, shard) DO UPDATE SET n = survey_days.n + excluded.n;
		END IF;
	END IF;
	RETURN NULL;
END $$;
CREATE TRIGGER responses_day AFTER INSERT OR DELETE ON responses FOR EACH ROW EXECUTE FUNCTION responses_day();
CREATE TRIGGER responses_day_move AFTER UPDATE OF round, submitted_at, status, vstatus ON responses FOR EACH ROW WHEN (OLD.round <> NEW.round OR OLD.submitted_at <> NEW.submitted_at OR OLD.status <> NEW.status OR OLD.vstatus <> NEW.vstatus) EXECUTE FUNCTION responses_day();
