-- Protocols: the templates twins are made from. One row for each protocol of a
-- workspace: what lists and filters ask for, and what a change of any of its
-- versions locks. version is the one that is shown and used when none is named;
-- class is '' until the first is published, and then stays.
CREATE TABLE protocols (
	ws         TEXT    NOT NULL,
	did        TEXT    NOT NULL,
	nid        BIGINT  NOT NULL,
	version    TEXT    NOT NULL,
	class      TEXT    NOT NULL,
	domain     TEXT    NOT NULL,
	open       BIGINT  NOT NULL, -- how many versions that were published allow undeclared properties
	versions   BIGINT  NOT NULL,
	updated_at BIGINT  NOT NULL,
	PRIMARY KEY (ws, did)
);
CREATE UNIQUE INDEX protocols_list ON protocols (ws, nid);

-- A version is one row; body is the record as it is sent. Published ones never
-- change but in their status.
CREATE TABLE protocol_versions (
	ws         TEXT   NOT NULL,
	did        TEXT   NOT NULL,
	version    TEXT   NOT NULL,
	status     TEXT   NOT NULL,
	revision   BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	body       TEXT   NOT NULL,
	PRIMARY KEY (ws, did, version)
);

-- Which protocols declare a property, over all versions that were ever
-- published: filters ask by its name. indexed says all of them index it, opens
-- how many of them allow undeclared properties too. Twins of any other such
-- version may have the property, and not in the index.
CREATE TABLE protocol_properties (
	ws       TEXT    NOT NULL,
	property TEXT    NOT NULL,
	did      TEXT    NOT NULL,
	kind     TEXT    NOT NULL,
	indexed  BOOLEAN NOT NULL,
	opens    BIGINT  NOT NULL,
	PRIMARY KEY (ws, property, did)
);
