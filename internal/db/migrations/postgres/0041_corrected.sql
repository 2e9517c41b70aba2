-- What readings said before they were corrected or withdrawn. had is 0 for one
-- that came back: there was nothing before it; gone is 1 where nothing came after.
CREATE TABLE device_reading_changes (
	device      BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	nid         BIGINT NOT NULL,
	temperature DOUBLE PRECISION,
	data        TEXT   NOT NULL,
	had         BIGINT NOT NULL,
	gone        BIGINT NOT NULL,
	actor       TEXT   NOT NULL,
	reason      TEXT   NOT NULL,
	changed_at  BIGINT NOT NULL,
	PRIMARY KEY (device, at, nid)
);
