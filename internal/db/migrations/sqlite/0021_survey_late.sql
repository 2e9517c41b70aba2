-- Who sent a decision that was made elsewhere, '' for one that was made here.
ALTER TABLE responses ADD COLUMN imported_by TEXT NOT NULL DEFAULT '';
ALTER TABLE response_history ADD COLUMN imported_by TEXT NOT NULL DEFAULT '';

-- Contents that wait for a decision, by the household that an erasure names. A
-- content that came while its survey was closed or paused is one too: it clashes
-- with no response, and response is the number of the survey, below zero.
CREATE INDEX response_conflicts_household ON response_conflicts (ws, household);

-- Surveys by template, of any status: a response may come after the end.
CREATE INDEX surveys_template ON surveys (ws, template_id, nid);
