-- How a household came on the list of a survey (0 by hand, 1 drawn here, 2 drawn
-- elsewhere), its first-stage unit, and the drawn household it stands in for.
ALTER TABLE survey_households ADD COLUMN cluster TEXT NOT NULL DEFAULT '';
ALTER TABLE survey_households ADD COLUMN source BIGINT NOT NULL DEFAULT 0;
ALTER TABLE survey_households ADD COLUMN replaces TEXT NOT NULL DEFAULT '';
