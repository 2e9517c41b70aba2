-- The row readiness probes write.
CREATE TABLE store_probe (
	id BIGINT PRIMARY KEY,
	at BIGINT NOT NULL
);
