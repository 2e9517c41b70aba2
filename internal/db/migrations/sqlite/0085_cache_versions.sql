-- For stores that several processes serve; here nothing is stored in them.
CREATE TABLE cache_versions (
	topic   TEXT   PRIMARY KEY,
	version BIGINT NOT NULL
);
CREATE TABLE cache_confirmed (
	instance TEXT   NOT NULL,
	topic    TEXT   NOT NULL,
	version  BIGINT NOT NULL,
	PRIMARY KEY (instance, topic)
) WITHOUT ROWID;
