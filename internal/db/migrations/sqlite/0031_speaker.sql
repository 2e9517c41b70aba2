-- Which did:keys speak for a twin, and what whoever put each there could do in
-- the whole workspace at that moment. Keys from before this table are not in it:
-- nobody knows where they came from.
CREATE TABLE entity_keys (
	ws       TEXT   NOT NULL,
	did      TEXT   NOT NULL,
	key      TEXT   NOT NULL,
	scopes   TEXT   NOT NULL,
	added_by TEXT   NOT NULL,
	added_at BIGINT NOT NULL,
	PRIMARY KEY (ws, did, key)
) WITHOUT ROWID;

-- Which keys of a member a group admits. A member that is a did:key needs none.
CREATE TABLE group_keys (
	ws     TEXT   NOT NULL,
	member TEXT   NOT NULL,
	grp    BIGINT NOT NULL,
	key    TEXT   NOT NULL,
	PRIMARY KEY (ws, member, grp, key)
) WITHOUT ROWID;
CREATE UNIQUE INDEX group_keys_list ON group_keys (grp, member, key);

-- Members keep the rights they have today, with the keys they have today.
INSERT INTO group_keys(ws, member, grp, key)
SELECT DISTINCT m.ws, m.member, m.grp, k.value
FROM group_members m JOIN entities e ON e.ws = m.ws AND e.did = m.member AND e.chosen = 0, json_each(e.body, '$.alsoKnownAs') k
WHERE k.value LIKE 'did:key:z%';

-- Managers no longer take over twins. A key that was made with the role has the
-- list of its time; one that was given the scope by name keeps it.
UPDATE api_keys SET scopes = replace(scopes, '"entities:transfer",', '') WHERE scopes IN (
	'["analytics:*","audit:read","claims:read","claims:write","credentials:read","credentials:write","devices:*","entities:pii","entities:read","entities:transfer","entities:write","evaluations:read","events:read","exports:*","groups:*","imports:*","jobs:*","keys:*","oracle:*","protocols:*","responses:pii","responses:read","responses:write","sampling:*","sessions:*","surveys:*","templates:*","ussd:*","webhooks:*"]',
	'["analytics:*","audit:read","claims:read","claims:write","credentials:read","credentials:write","devices:*","entities:read","entities:transfer","entities:write","evaluations:read","events:read","exports:*","groups:*","imports:*","jobs:*","keys:*","oracle:*","protocols:*","responses:pii","responses:read","responses:write","sampling:*","sessions:*","surveys:*","templates:*","ussd:*","webhooks:*"]');
