-- Who belongs to a membership group. A group gives its members its scopes. grp
-- is the number of the group's twin.
CREATE TABLE group_members (
	ws       TEXT   NOT NULL,
	member   TEXT   NOT NULL,
	grp      BIGINT NOT NULL,
	added_at BIGINT NOT NULL,
	added_by TEXT   NOT NULL,
	PRIMARY KEY (ws, member, grp)
) WITHOUT ROWID;
CREATE UNIQUE INDEX group_members_list ON group_members (grp, member);

-- How many members a group has (kind 'group'), and in how many groups a member
-- is (kind 'member'), so that nobody counts.
CREATE TABLE group_counts (
	ws   TEXT   NOT NULL,
	kind TEXT   NOT NULL,
	did  TEXT   NOT NULL,
	n    BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, did)
) WITHOUT ROWID;

-- Whose data was erased. body is the certificate as it is sent. Somebody may
-- be erased again when more was stored since.
CREATE TABLE erasures (
	ws      TEXT   NOT NULL,
	nid     BIGINT NOT NULL,
	subject TEXT   NOT NULL,
	at      BIGINT NOT NULL,
	body    TEXT   NOT NULL,
	PRIMARY KEY (ws, nid)
) WITHOUT ROWID;
CREATE INDEX erasures_subject ON erasures (ws, subject, nid);

-- Relationships that have ended, for whoever must take a twin out of them.
CREATE INDEX relationships_past_out ON relationships (src) WHERE removed_at IS NOT NULL;
CREATE INDEX relationships_past_in ON relationships (dst) WHERE removed_at IS NOT NULL;
