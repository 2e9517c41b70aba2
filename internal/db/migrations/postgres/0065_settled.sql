-- What people have found out about flags. A row holds for a flag that says what
-- it said then, which data keeps: a run that finds it again leaves it settled, one
-- that finds something else opens it.
CREATE TABLE flag_settlements (
	response BIGINT NOT NULL,
	rule     TEXT   NOT NULL,
	question TEXT   NOT NULL,
	data     TEXT   NOT NULL,
	outcome  TEXT   NOT NULL,
	note     TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	at       BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	PRIMARY KEY (response, rule, question)
);
