-- Who may call: workspaces, the principals they know, and their API keys.
-- Times are milliseconds since 1970 UTC, lists are JSON arrays.

CREATE TABLE workspaces (
	id         TEXT   NOT NULL PRIMARY KEY,
	name       TEXT   NOT NULL,
	created_by TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	revision   BIGINT NOT NULL
) WITHOUT ROWID;

-- A DID may be known in several workspaces.
CREATE TABLE principals (
	workspace  TEXT   NOT NULL REFERENCES workspaces (id),
	did        TEXT   NOT NULL,
	kind       TEXT   NOT NULL,
	name       TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	PRIMARY KEY (workspace, did)
) WITHOUT ROWID;

CREATE INDEX principals_kind ON principals (workspace, kind, created_at);

-- hash is the SHA-256 of the key's text, which is stored nowhere.
CREATE TABLE api_keys (
	id           TEXT   NOT NULL PRIMARY KEY,
	workspace    TEXT   NOT NULL,
	principal    TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	prefix       TEXT   NOT NULL,
	hash         BLOB   NOT NULL UNIQUE,
	scopes       TEXT   NOT NULL,
	projects     TEXT   NOT NULL,
	networks     TEXT   NOT NULL,
	created_by   TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT,
	revoked_at   BIGINT,
	last_used_at BIGINT,
	grace_until  BIGINT,
	replaces     TEXT,
	replaced_by  TEXT,
	revision     BIGINT NOT NULL,
	FOREIGN KEY (workspace, principal) REFERENCES principals (workspace, did)
);

-- Ids are ordered by time, so this is also the order of the list.
CREATE UNIQUE INDEX api_keys_list ON api_keys (workspace, id);
