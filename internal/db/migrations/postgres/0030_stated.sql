-- A verdict names the revision it is about, and holds as long as nothing but
-- other verdicts came after: stated is the last revision that changed what a
-- twin or a response says. 0 is the newest one.
ALTER TABLE entities ADD COLUMN stated BIGINT NOT NULL DEFAULT 0;
ALTER TABLE responses ADD COLUMN stated BIGINT NOT NULL DEFAULT 0;

-- The revision that was judged; 0 where nobody named one.
ALTER TABLE response_decisions ADD COLUMN judged BIGINT NOT NULL DEFAULT 0;
