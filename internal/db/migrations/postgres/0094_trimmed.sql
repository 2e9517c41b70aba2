-- Devices with days that are not final yet are found while nobody may write readings.
CREATE INDEX device_status_trimmed ON device_status (trimmed, device);
