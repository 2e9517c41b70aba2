-- Invitations: a code that makes one key with what is in draft, once. hash is the
-- SHA-256 of the code. key_id is the key whose rights it gives away; principal
-- and made are whom it was used by.
CREATE TABLE invites (
	id         TEXT   NOT NULL PRIMARY KEY,
	ws         TEXT   NOT NULL,
	hash       BYTEA  NOT NULL,
	draft      TEXT   NOT NULL,
	key_id     TEXT   NOT NULL,
	created_by TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	ends_at    BIGINT NOT NULL,
	used_at    BIGINT,
	revoked_at BIGINT,
	principal  TEXT   NOT NULL DEFAULT '',
	made       TEXT   NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX invites_hash ON invites (hash);
CREATE INDEX invites_list ON invites (ws, id);
CREATE INDEX invites_principal ON invites (ws, principal) WHERE principal <> '';
CREATE INDEX invites_end ON invites (ends_at);
CREATE INDEX invites_open ON invites (ws, ends_at) WHERE used_at IS NULL AND revoked_at IS NULL;
