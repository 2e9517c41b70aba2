-- What devices measured. A reading is known by the number of its twin and its
-- time, which makes sending it twice harmless. data holds what is no
-- temperature, as JSON, and is usually empty.
CREATE TABLE device_readings (
	device      BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	temperature REAL,
	data        TEXT   NOT NULL,
	PRIMARY KEY (device, at)
) WITHOUT ROWID;

-- How a device was when it last told. It changes with every batch, so it is no
-- revision of the twin. The row is also the lock of whoever adds readings.
CREATE TABLE device_status (
	device      INTEGER PRIMARY KEY,
	battery     REAL,
	signal      TEXT   NOT NULL,
	last_sync   BIGINT NOT NULL,
	received_at BIGINT NOT NULL
);

-- Edges to twins that are not held here, such as the devices of a household
-- another system keeps.
CREATE INDEX relationships_external ON relationships (ws, dst_did, nid) WHERE dst = 0 AND removed_at IS NULL;
