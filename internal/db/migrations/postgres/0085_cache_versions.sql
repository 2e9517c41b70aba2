-- How often the rows of a topic have changed of which processes keep something
-- in memory, and up to which version each process has dropped what was before.
CREATE TABLE cache_versions (
	topic   TEXT   COLLATE "C" PRIMARY KEY,
	version BIGINT NOT NULL
);
CREATE TABLE cache_confirmed (
	instance TEXT   COLLATE "C" NOT NULL REFERENCES instances ON DELETE CASCADE,
	topic    TEXT   COLLATE "C" NOT NULL,
	version  BIGINT NOT NULL,
	PRIMARY KEY (instance, topic)
);
