-- What a device saw on a day of UTC in one place: its household and stove then.
-- part counts the places. spill says which events reach over midnight. The rows
-- follow from readings and relationships and are remade when those change.
CREATE TABLE device_days (
	device         BIGINT NOT NULL,
	day            BIGINT NOT NULL,
	part           BIGINT NOT NULL,
	ws             TEXT   NOT NULL,
	project_key    BIGINT,
	household      TEXT   NOT NULL,
	stove          TEXT   NOT NULL,
	readings       BIGINT NOT NULL,
	expected       BIGINT NOT NULL,
	events         BIGINT NOT NULL,
	cooking        BIGINT NOT NULL,
	contradictions BIGINT NOT NULL,
	spill          BIGINT NOT NULL,
	PRIMARY KEY (device, day, part)
);
CREATE INDEX device_days_project ON device_days (project_key, day, device, part) WHERE project_key IS NOT NULL;

-- Days of a device that wait to be remade; NULL: none. Those of all readings
-- there are do, once.
ALTER TABLE device_status ADD COLUMN dirty_from BIGINT;
ALTER TABLE device_status ADD COLUMN dirty_to BIGINT;
UPDATE device_status SET dirty_from = 0, dirty_to = 1099511627776;
CREATE INDEX device_status_dirty ON device_status (device) WHERE dirty_from IS NOT NULL;
