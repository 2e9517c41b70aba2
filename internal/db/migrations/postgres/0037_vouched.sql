-- A key speaks for a DID as far as somebody has vouched for it: whoever put it
-- there, or has since confirmed that it is hers. One that was left out of what is
-- hers is refused (1). One that was taken from the DID is gone (2): it is kept for
-- what it has signed.
ALTER TABLE entity_keys ADD COLUMN refused BIGINT NOT NULL DEFAULT 0;
CREATE INDEX entity_keys_key ON entity_keys (ws, key);

-- Members keep what their groups give today, with the keys these have admitted.
DELETE FROM entity_keys WHERE EXISTS (SELECT 1 FROM entities e WHERE e.ws = entity_keys.ws AND e.did = entity_keys.did AND e.chosen = 1);
INSERT INTO entity_keys(ws, did, key, scopes, added_by, added_at)
SELECT DISTINCT ws, member, key, '[]', 'system', 0 FROM group_keys WHERE true ON CONFLICT DO NOTHING;
UPDATE entity_keys SET scopes = (SELECT coalesce(json_agg(v.value)::text, '[]') FROM (
	SELECT own.value FROM json_array_elements_text(entity_keys.scopes::json) AS own(value) UNION
	SELECT s.value FROM group_keys g JOIN entities e ON e.nid = g.grp,
		json_array_elements_text(CASE WHEN position('\u0000' IN e.body) = 0
			THEN CASE json_typeof(e.body::json #> '{properties,scopes}') WHEN 'array' THEN e.body::json #> '{properties,scopes}' END END) AS s(value)
	WHERE g.ws = entity_keys.ws AND g.member = entity_keys.did AND g.key = entity_keys.key) v)
WHERE EXISTS (SELECT 1 FROM group_keys g WHERE g.ws = entity_keys.ws AND g.member = entity_keys.did AND g.key = entity_keys.key);
UPDATE entity_keys SET refused = 1
WHERE EXISTS (SELECT 1 FROM group_members m WHERE m.ws = entity_keys.ws AND m.member = entity_keys.did)
AND NOT EXISTS (SELECT 1 FROM group_keys g WHERE g.ws = entity_keys.ws AND g.member = entity_keys.did AND g.key = entity_keys.key);
DROP TABLE group_keys;

-- Whether a DID was made for a principal is asked without a workspace.
CREATE INDEX principals_did ON principals (did);

-- Whom somebody has made keys for: nobody judges their own work with one.
CREATE INDEX api_keys_maker ON api_keys (workspace, created_by);

-- The last revision that changed what the twin says, as of each one.
ALTER TABLE entity_history ADD COLUMN stated BIGINT NOT NULL DEFAULT 0;
DROP INDEX entity_history_actor;
CREATE INDEX entity_history_actor ON entity_history (nid, actor)
	WHERE (stated = revision OR action NOT IN ('verify', 'transfer', 'relate', 'unrelate', 'certify', 'migrate', 'erase'));
