-- Twins. body is the record as it is sent; the rev_ columns tell of its newest
-- revision. *_key are 63-bit hashes of workspace, field and value: they make
-- narrow indexes, and whoever reads by one checks the value itself. status_key
-- is empty for active twins, the usual state. name is the beginning of the name
-- in the record, so that lists and graphs need not open the body. crowded is 1
-- when the record shows as many edges as it can and waits for none: a further
-- one leaves it as it is. chosen is 0 when we made the DID of the twin, and 1
-- when its maker named it: then it may be somebody else's too.
CREATE TABLE entities (
	nid              INTEGER PRIMARY KEY,
	ws               TEXT    NOT NULL,
	did              TEXT    NOT NULL,
	type             TEXT    NOT NULL,
	class            TEXT    NOT NULL,
	domain_type      TEXT    NOT NULL,
	protocol         TEXT    NOT NULL,
	protocol_version TEXT    NOT NULL,
	project          TEXT    NOT NULL,
	name             TEXT    NOT NULL,
	status           TEXT    NOT NULL,
	revision         BIGINT  NOT NULL,
	crowded          BIGINT  NOT NULL,
	chosen           BIGINT  NOT NULL DEFAULT 1,
	type_key         BIGINT  NOT NULL,
	protocol_key     BIGINT  NOT NULL,
	project_key      BIGINT,
	status_key       BIGINT,
	created_at       BIGINT  NOT NULL,
	updated_at       BIGINT  NOT NULL,
	rev_action       TEXT    NOT NULL,
	rev_actor        TEXT    NOT NULL,
	rev_request      TEXT    NOT NULL,
	rev_reason       TEXT    NOT NULL,
	rev_hash         BLOB    NOT NULL,
	body             TEXT    NOT NULL
);
CREATE UNIQUE INDEX entities_did ON entities (did, ws);
CREATE INDEX entities_list ON entities (ws, nid);
CREATE INDEX entities_updated ON entities (ws, updated_at, nid);
CREATE INDEX entities_type ON entities (type_key, nid);
CREATE INDEX entities_protocol ON entities (protocol_key, nid);
CREATE INDEX entities_project ON entities (project_key, nid) WHERE project_key IS NOT NULL;
CREATE INDEX entities_status ON entities (status_key, nid) WHERE status_key IS NOT NULL;

-- Earlier revisions of twins, each as it was sent. hash is SHA-256 over the
-- hash of the revision before and the body, so that a gap or a change shows.
CREATE TABLE entity_history (
	nid      BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	action   TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	request  TEXT   NOT NULL,
	reason   TEXT   NOT NULL,
	hash     BLOB   NOT NULL,
	body     TEXT   NOT NULL,
	PRIMARY KEY (nid, revision)
);
CREATE INDEX entity_history_at ON entity_history (nid, at, revision);

-- Values of properties a protocol marks as indexed. pid is the hash of
-- workspace, protocol and property; val sorts as the value does.
CREATE TABLE entity_props (
	pid BIGINT NOT NULL,
	val TEXT   NOT NULL,
	nid BIGINT NOT NULL,
	PRIMARY KEY (pid, val, nid)
) WITHOUT ROWID;

-- Names other systems have for a twin: a serial number, a customer number.
CREATE TABLE entity_externals (
	ws     TEXT   NOT NULL,
	value  TEXT   NOT NULL,
	scheme TEXT   NOT NULL,
	nid    BIGINT NOT NULL,
	PRIMARY KEY (ws, value, scheme)
) WITHOUT ROWID;

-- Edges between twins. dst is 0 when the target is not held here. mirror is
-- dst again for edges of the domain model, which their target shows too. A
-- removed edge stays, for the history.
CREATE TABLE relationships (
	nid        INTEGER PRIMARY KEY,
	ws         TEXT    NOT NULL,
	src        BIGINT  NOT NULL,
	src_did    TEXT    NOT NULL,
	dst        BIGINT  NOT NULL,
	dst_did    TEXT    NOT NULL,
	role       TEXT    NOT NULL,
	mirror     BIGINT,
	since      BIGINT,
	until      BIGINT,
	source     TEXT    NOT NULL,
	added_at   BIGINT  NOT NULL,
	added_by   TEXT    NOT NULL,
	removed_at BIGINT,
	removed_by TEXT    NOT NULL,
	reason     TEXT    NOT NULL
);
CREATE UNIQUE INDEX relationships_once ON relationships (src, role, dst_did) WHERE removed_at IS NULL;
CREATE INDEX relationships_out ON relationships (src, nid) WHERE removed_at IS NULL;
CREATE INDEX relationships_in ON relationships (dst, nid) WHERE removed_at IS NULL;
CREATE INDEX relationships_mirror ON relationships (mirror, nid) WHERE mirror IS NOT NULL AND removed_at IS NULL;
