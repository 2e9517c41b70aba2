-- What the event log was told about the readings of a device, and what waits for
-- the hour to be over. Readings of days before trimmed were removed; the figures
-- of those days are final.
ALTER TABLE device_status ADD COLUMN told_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE device_status ADD COLUMN pend_count BIGINT NOT NULL DEFAULT 0;
ALTER TABLE device_status ADD COLUMN pend_from BIGINT NOT NULL DEFAULT 0;
ALTER TABLE device_status ADD COLUMN pend_to BIGINT NOT NULL DEFAULT 0;
ALTER TABLE device_status ADD COLUMN pend_gaps BIGINT NOT NULL DEFAULT 0;
ALTER TABLE device_status ADD COLUMN pend_missing BIGINT NOT NULL DEFAULT 0;
ALTER TABLE device_status ADD COLUMN trimmed BIGINT NOT NULL DEFAULT 0;
CREATE INDEX device_status_untold ON device_status (device) WHERE pend_count > 0;
