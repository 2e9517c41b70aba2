-- Results of holding answers against measurements, newest last. body is what is
-- told of one, as JSON.
CREATE TABLE cross_references (
	nid      BIGINT PRIMARY KEY,
	survey   BIGINT NOT NULL,
	round    BIGINT NOT NULL,
	question TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	at       BIGINT NOT NULL,
	body     TEXT   NOT NULL
);
CREATE INDEX cross_references_list ON cross_references (survey, nid);
CREATE INDEX cross_references_of ON cross_references (survey, round, question, nid);

-- run is the one that may store now, job the newest that was asked for.
CREATE TABLE cross_rounds (
	survey   BIGINT NOT NULL,
	round    BIGINT NOT NULL,
	question TEXT   NOT NULL,
	run      BIGINT NOT NULL,
	job      TEXT   NOT NULL,
	PRIMARY KEY (survey, round, question)
);

-- The pairs of the newest result of a round and question. A pair goes with the
-- answer it says again.
CREATE TABLE cross_pairs (
	run      BIGINT NOT NULL,
	response BIGINT NOT NULL,
	said     DOUBLE PRECISION NOT NULL,
	measured DOUBLE PRECISION NOT NULL,
	days     BIGINT NOT NULL,
	mismatch BIGINT NOT NULL,
	PRIMARY KEY (run, response)
);
CREATE INDEX cross_pairs_response ON cross_pairs (response);
