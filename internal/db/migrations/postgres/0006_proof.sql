-- Something only the server's own key opens: a store does not start with
-- another one.
CREATE TABLE server_proof (
	id     BIGINT PRIMARY KEY,
	sealed BYTEA NOT NULL
);
