-- A new row is counted with one statement for each counter instead of two, and a
-- new response by one trigger instead of three: counting was a quarter of what
-- storing a response costs.
DROP TRIGGER entities_count_in;
DROP TRIGGER responses_count_in;
DROP TRIGGER responses_day_in;
DROP TRIGGER responses_changed_in;
CREATE TRIGGER entities_count_in AFTER INSERT ON entities BEGIN
	INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'entity', NEW.type, NEW.status, 0, 1)
		ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER responses_in AFTER INSERT ON responses BEGIN
	INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'response', NEW.status, NEW.vstatus, 0, 1)
		ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = n + 1;
	INSERT INTO survey_days (survey, round, day, status, shard, n)
		SELECT NEW.survey, NEW.round, NEW.submitted_at / 86400000, NEW.status, 0, 1 WHERE NEW.vstatus NOT IN ('superseded', 'invalidated')
		ON CONFLICT (survey, round, day, status, shard) DO UPDATE SET n = n + 1;
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
