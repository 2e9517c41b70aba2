-- What responses say as typed rows: numbers, choices and dates, for statistics
-- and filters. Package survey/answer says what the columns hold.
CREATE TABLE answers (
	qid  BIGINT NOT NULL,
	code TEXT   NOT NULL,
	num  REAL NOT NULL,
	nid  BIGINT NOT NULL,
	item BIGINT NOT NULL,
	PRIMARY KEY (qid, code, num, nid, item)
) WITHOUT ROWID;

-- typed: 0 before the rows of a response were made, 1 when they stand, 2 when it
-- has none any more. unfit: the eligibility rule of the survey does not hold.
ALTER TABLE responses ADD COLUMN typed BIGINT NOT NULL DEFAULT 0;
ALTER TABLE responses ADD COLUMN unfit BIGINT NOT NULL DEFAULT 0;
CREATE INDEX responses_rowless ON responses (survey, nid) WHERE typed <> 1;
CREATE INDEX responses_untyped ON responses (nid) WHERE typed = 0;
