-- The outcome of a household follows its response: 6 is ineligible as somebody
-- noted, 7 partial, 8 ineligible by the rule of the survey, 9 contacted with a
-- response that was rejected. ineligible counts 6 and 8.
ALTER TABLE survey_counts ADD COLUMN ineligible BIGINT NOT NULL DEFAULT 0;

INSERT INTO survey_counts (survey, round, stratum, grp, shard, listed, contacted, refused, unreachable, completed, partial, verified, rejected, flagged, ineligible)
	SELECT survey, round, stratum, CASE grp WHEN 'adopter' THEN 1 WHEN 'comparison' THEN 2 ELSE 0 END, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, count(*)
	FROM responses WHERE status IN ('complete', 'partial') AND vstatus NOT IN ('superseded', 'invalidated') AND body LIKE '%"eligible":false%' AND body::json->>'eligible' = 'false'
	GROUP BY survey, round, stratum, grp
	ON CONFLICT (survey, round, stratum, grp, shard) DO UPDATE SET ineligible = excluded.ineligible;

-- The one response that a household has in a round says what it stands for.
UPDATE survey_households SET outcome = 8 WHERE outcome = 2 AND EXISTS (SELECT 1 FROM surveys s JOIN responses r
	ON r.ws = s.ws AND r.household = survey_households.household AND r.survey = s.nid AND r.round = survey_households.outcome_round AND r.slot = 0
	WHERE s.nid = survey_households.survey AND r.status IN ('complete', 'partial') AND r.vstatus <> 'rejected' AND r.body LIKE '%"eligible":false%' AND r.body::json->>'eligible' = 'false');
UPDATE survey_households SET outcome = 7 WHERE outcome = 2 AND EXISTS (SELECT 1 FROM surveys s JOIN responses r
	ON r.ws = s.ws AND r.household = survey_households.household AND r.survey = s.nid AND r.round = survey_households.outcome_round AND r.slot = 0
	WHERE s.nid = survey_households.survey AND r.status = 'partial' AND r.vstatus <> 'rejected');
UPDATE survey_households SET outcome = 9 WHERE outcome IN (2, 5) AND EXISTS (SELECT 1 FROM surveys s JOIN responses r
	ON r.ws = s.ws AND r.household = survey_households.household AND r.survey = s.nid AND r.round = survey_households.outcome_round AND r.slot = 0
	WHERE s.nid = survey_households.survey AND r.vstatus = 'rejected');

-- Households whose responses were all redacted or invalidated are contacted.
INSERT INTO survey_counts (survey, round, stratum, grp, shard, listed, contacted, refused, unreachable, completed, partial, verified, rejected, flagged, ineligible)
	SELECT h.survey, h.outcome_round, h.stratum, h.grp, 0, 0, count(*), 0, 0, 0, 0, 0, 0, 0, 0
	FROM survey_households h JOIN surveys s ON s.nid = h.survey
	WHERE h.outcome IN (2, 5) AND NOT EXISTS (SELECT 1 FROM responses r WHERE r.ws = s.ws AND r.household = h.household AND r.survey = h.survey
		AND r.round = h.outcome_round AND r.status <> 'redacted' AND r.vstatus NOT IN ('superseded', 'invalidated'))
	GROUP BY h.survey, h.outcome_round, h.stratum, h.grp
	ON CONFLICT (survey, round, stratum, grp, shard) DO UPDATE SET contacted = survey_counts.contacted + excluded.contacted;
UPDATE survey_households SET outcome = 1 WHERE outcome IN (2, 5) AND NOT EXISTS (SELECT 1 FROM surveys s JOIN responses r
	ON r.ws = s.ws AND r.household = survey_households.household AND r.survey = s.nid AND r.round = survey_households.outcome_round
	WHERE s.nid = survey_households.survey AND r.status <> 'redacted' AND r.vstatus NOT IN ('superseded', 'invalidated'));
