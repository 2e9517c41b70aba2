-- Calls of the USSD line that are over, one row each: what was typed, with
-- secrets left out, and where it led. ending is ended, hung_up or expired.
CREATE TABLE ussd_walks (
	id         TEXT   NOT NULL PRIMARY KEY,
	session_id TEXT   NOT NULL,
	phone      TEXT   NOT NULL,
	gateway    TEXT   NOT NULL,
	code       TEXT   NOT NULL,
	pack       TEXT   NOT NULL,
	lang       TEXT   NOT NULL,
	node       TEXT   NOT NULL,
	ending     TEXT   NOT NULL,
	started_at BIGINT NOT NULL,
	ended_at   BIGINT NOT NULL,
	steps      BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX ussd_walks_age ON ussd_walks (ended_at, id);
CREATE INDEX ussd_walks_phone ON ussd_walks (phone, ended_at, id);

-- How often the screens of a menu were shown, how often an answer was refused
-- there, and how many calls fell silent there: by day, and nobody's. sample is 1
-- for calls of the demo programme, whose counts go with it.
CREATE TABLE ussd_visits (
	day     TEXT   NOT NULL,
	pack    TEXT   NOT NULL,
	node    TEXT   NOT NULL,
	sample  BIGINT NOT NULL,
	visits  BIGINT NOT NULL,
	refused BIGINT NOT NULL,
	dropped BIGINT NOT NULL,
	PRIMARY KEY (day, pack, node, sample)
) WITHOUT ROWID;
