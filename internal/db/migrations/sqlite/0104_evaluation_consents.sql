-- Which controllers of oracles have agreed that the server evaluates claims in their name.
CREATE TABLE evaluation_consents (
	oracle    BIGINT NOT NULL,
	principal TEXT NOT NULL,
	ws        TEXT NOT NULL,
	at        BIGINT NOT NULL,
	PRIMARY KEY (oracle, principal)
);
