-- Counters, so that nobody counts: of twins by type and status, of responses by
-- status and verification, of jobs by kind and status. The triggers keep them in
-- the transaction of what is counted. shard spreads a counter on PostgreSQL, where
-- rows stay locked until a transaction ends: each connection has its own.
CREATE TABLE counts (
	ws    TEXT   NOT NULL,
	kind  TEXT   NOT NULL,
	part  TEXT   NOT NULL,
	state TEXT   NOT NULL,
	shard BIGINT NOT NULL,
	n     BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, part, state, shard)
) WITHOUT ROWID;

-- Responses of a round by the day (from 1970, UTC) they were submitted on; not
-- those that were superseded or invalidated.
CREATE TABLE survey_days (
	survey BIGINT NOT NULL,
	round  BIGINT NOT NULL,
	day    BIGINT NOT NULL,
	status TEXT   NOT NULL,
	shard  BIGINT NOT NULL,
	n      BIGINT NOT NULL,
	PRIMARY KEY (survey, round, day, status, shard)
) WITHOUT ROWID;

INSERT INTO counts (ws, kind, part, state, shard, n) SELECT ws, 'entity', type, status, 0, count(*) FROM entities GROUP BY ws, type, status;
INSERT INTO counts (ws, kind, part, state, shard, n) SELECT ws, 'response', status, vstatus, 0, count(*) FROM responses GROUP BY ws, status, vstatus;
INSERT INTO counts (ws, kind, part, state, shard, n) SELECT ws, 'job', kind, status, 0, count(*) FROM jobs GROUP BY ws, kind, status;
INSERT INTO survey_days (survey, round, day, status, shard, n) SELECT survey, round, submitted_at / 86400000, status, 0, count(*) FROM responses
	WHERE vstatus NOT IN ('superseded', 'invalidated') GROUP BY 1, 2, 3, 4;

CREATE TRIGGER entities_count_in AFTER INSERT ON entities BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'entity', NEW.type, NEW.status, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'entity' AND part = NEW.type AND state = NEW.status AND shard = 0;
END;
CREATE TRIGGER entities_count_out AFTER DELETE ON entities BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'entity', OLD.type, OLD.status, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'entity' AND part = OLD.type AND state = OLD.status AND shard = 0;
END;
CREATE TRIGGER entities_count_move AFTER UPDATE OF type, status ON entities WHEN OLD.type <> NEW.type OR OLD.status <> NEW.status BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'entity', OLD.type, OLD.status, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'entity' AND part = OLD.type AND state = OLD.status AND shard = 0;
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'entity', NEW.type, NEW.status, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'entity' AND part = NEW.type AND state = NEW.status AND shard = 0;
END;

CREATE TRIGGER responses_count_in AFTER INSERT ON responses BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'response', NEW.status, NEW.vstatus, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'response' AND part = NEW.status AND state = NEW.vstatus AND shard = 0;
END;
CREATE TRIGGER responses_count_out AFTER DELETE ON responses BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'response', OLD.status, OLD.vstatus, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'response' AND part = OLD.status AND state = OLD.vstatus AND shard = 0;
END;
CREATE TRIGGER responses_count_move AFTER UPDATE OF status, vstatus ON responses WHEN OLD.status <> NEW.status OR OLD.vstatus <> NEW.vstatus BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'response', OLD.status, OLD.vstatus, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'response' AND part = OLD.status AND state = OLD.vstatus AND shard = 0;
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'response', NEW.status, NEW.vstatus, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'response' AND part = NEW.status AND state = NEW.vstatus AND shard = 0;
END;

CREATE TRIGGER jobs_count_in AFTER INSERT ON jobs BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'job', NEW.kind, NEW.status, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'job' AND part = NEW.kind AND state = NEW.status AND shard = 0;
END;
CREATE TRIGGER jobs_count_out AFTER DELETE ON jobs BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'job', OLD.kind, OLD.status, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'job' AND part = OLD.kind AND state = OLD.status AND shard = 0;
END;
CREATE TRIGGER jobs_count_move AFTER UPDATE OF kind, status ON jobs WHEN OLD.kind <> NEW.kind OR OLD.status <> NEW.status BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'job', OLD.kind, OLD.status, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'job' AND part = OLD.kind AND state = OLD.status AND shard = 0;
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'job', NEW.kind, NEW.status, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'job' AND part = NEW.kind AND state = NEW.status AND shard = 0;
END;

CREATE TRIGGER responses_day_in AFTER INSERT ON responses BEGIN
	INSERT OR IGNORE INTO survey_days (survey, round, day, status, shard, n)
		SELECT NEW.survey, NEW.round, NEW.submitted_at / 86400000, NEW.status, 0, 0 WHERE NEW.vstatus NOT IN ('superseded', 'invalidated');
	UPDATE survey_days SET n = n + 1 WHERE survey = NEW.survey AND round = NEW.round AND day = NEW.submitted_at / 86400000 AND status = NEW.status AND shard = 0
		AND NEW.vstatus NOT IN ('superseded', 'invalidated');
END;
CREATE TRIGGER responses_day_out AFTER DELETE ON responses BEGIN
	INSERT OR IGNORE INTO survey_days (survey, round, day, status, shard, n)
		SELECT OLD.survey, OLD.round, OLD.submitted_at / 86400000, OLD.status, 0, 0 WHERE OLD.vstatus NOT IN ('superseded', 'invalidated');
	UPDATE survey_days SET n = n - 1 WHERE survey = OLD.survey AND round = OLD.round AND day = OLD.submitted_at / 86400000 AND status = OLD.status AND shard = 0
		AND OLD.vstatus NOT IN ('superseded', 'invalidated');
END;
CREATE TRIGGER responses_day_move AFTER UPDATE OF round, submitted_at, status, vstatus ON responses WHEN OLD.round <> NEW.round OR OLD.submitted_at <> NEW.submitted_at OR OLD.status <> NEW.status OR OLD.vstatus <> NEW.vstatus BEGIN
	INSERT OR IGNORE INTO survey_days (survey, round, day, status, shard, n)
		SELECT OLD.survey, OLD.round, OLD.submitted_at / 86400000, OLD.status, 0, 0 WHERE OLD.vstatus NOT IN ('superseded', 'invalidated');
	UPDATE survey_days SET n = n - 1 WHERE survey = OLD.survey AND round = OLD.round AND day = OLD.submitted_at / 86400000 AND status = OLD.status AND shard = 0
		AND OLD.vstatus NOT IN ('superseded', 'invalidated');
	INSERT OR IGNORE INTO survey_days (survey, round, day, status, shard, n)
		SELECT NEW.survey, NEW.round, NEW.submitted_at / 86400000, NEW.status, 0, 0 WHERE NEW.vstatus NOT IN ('superseded', 'invalidated');
	UPDATE survey_days SET n = n + 1 WHERE survey = NEW.survey AND round = NEW.round AND day = NEW.submitted_at / 86400000 AND status = NEW.status AND shard = 0
		AND NEW.vstatus NOT IN ('superseded', 'invalidated');
END;
