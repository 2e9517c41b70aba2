-- Credentials as they were signed, and the keys of their issuers. A document never
-- changes; its state follows the twin of the same number. issuer_keys has one key
-- without an end for each issuer, sealed by the server's own key. A status list has
-- 131,072 places, of which a credential takes one at random; what a list says is read
-- off the credentials. disputed is 1 where a dispute has suspended a credential, and 2
-- where that was suspended before.
CREATE TABLE issuer_keys (
	nid        INTEGER PRIMARY KEY,
	ws         TEXT NOT NULL,
	issuer     BIGINT NOT NULL,
	controller TEXT NOT NULL,
	method     TEXT NOT NULL,
	public     TEXT NOT NULL,
	sealed     BLOB NOT NULL,
	created_at BIGINT NOT NULL,
	ended_at   BIGINT NOT NULL,
	stolen_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX issuer_keys_method ON issuer_keys (method);
CREATE UNIQUE INDEX issuer_keys_current ON issuer_keys (issuer) WHERE ended_at = 0;
CREATE INDEX issuer_keys_issuer ON issuer_keys (issuer, nid);

CREATE TABLE status_lists (
	nid        INTEGER PRIMARY KEY,
	ws         TEXT NOT NULL,
	issuer     BIGINT NOT NULL,
	list_id    TEXT NOT NULL,
	created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX status_lists_id ON status_lists (list_id);
CREATE INDEX status_lists_issuer ON status_lists (issuer, nid);

CREATE TABLE credentials (
	nid       INTEGER PRIMARY KEY,
	ws        TEXT NOT NULL,
	did       TEXT NOT NULL,
	page      TEXT NOT NULL,
	uri       TEXT NOT NULL,
	project   TEXT NOT NULL,
	subject   BIGINT NOT NULL,
	claim     BIGINT NOT NULL,
	issuer    BIGINT NOT NULL,
	list      BIGINT NOT NULL,
	place     BIGINT NOT NULL,
	state     TEXT NOT NULL,
	suspended BIGINT NOT NULL,
	revoked   BIGINT NOT NULL,
	retired   BIGINT NOT NULL,
	disputed  BIGINT NOT NULL,
	issued_at BIGINT NOT NULL,
	salt      BLOB NOT NULL,
	says      TEXT NOT NULL,
	document  TEXT NOT NULL
);
CREATE UNIQUE INDEX credentials_page ON credentials (page);
CREATE UNIQUE INDEX credentials_uri ON credentials (uri);
CREATE UNIQUE INDEX credentials_place ON credentials (list, place);
CREATE INDEX credentials_revoked ON credentials (list, place) WHERE revoked = 1;
CREATE INDEX credentials_suspended ON credentials (list, place) WHERE suspended = 1;
CREATE INDEX credentials_list ON credentials (ws, nid);
CREATE INDEX credentials_state ON credentials (ws, state, nid);
CREATE INDEX credentials_project ON credentials (ws, project, nid);
CREATE INDEX credentials_subject ON credentials (subject, nid);
CREATE INDEX credentials_claim ON credentials (claim, nid);
CREATE INDEX credentials_issuer ON credentials (issuer, nid);
