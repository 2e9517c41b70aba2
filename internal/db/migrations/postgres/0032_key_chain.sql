-- Whose groups a key depends on, besides its own principal's: those who made it
-- with rights their groups gave them.
ALTER TABLE api_keys ADD COLUMN bound_to TEXT NOT NULL DEFAULT '[]';

-- Keys made before are bound where it is known that their maker acted through
-- groups: it was no owner and was never given a key with scopes of its own. Keys
-- that were made or replaced by these are bound with them, unless their maker
-- was given another key by somebody else. The first key of a workspace is its
-- own.
WITH RECURSIVE
made AS (
	SELECT k.id, k.workspace, k.principal, k.created_by, k.scopes, k.replaces FROM api_keys k
	WHERE NOT EXISTS (SELECT 1 FROM principals p
		WHERE p.workspace = k.workspace AND p.did = k.principal AND p.kind = 'owner' AND p.created_at = k.created_at)
),
first AS (SELECT * FROM made WHERE replaces IS NULL),
chain(id, workspace, principal, maker, root) AS (
	SELECT f.id, f.workspace, f.principal, f.created_by, f.created_by FROM made f
	WHERE NOT EXISTS (SELECT 1 FROM principals p WHERE p.workspace = f.workspace AND p.did = f.created_by AND p.kind = 'owner')
	AND NOT EXISTS (SELECT 1 FROM first o
		WHERE o.workspace = f.workspace AND o.principal = f.created_by AND o.created_by <> f.created_by AND o.scopes <> '["member"]')
	UNION
	SELECT k.id, k.workspace, k.principal, k.created_by, c.root FROM chain c
	JOIN api_keys k ON k.workspace = c.workspace AND (k.replaces = c.id OR k.replaces IS NULL AND k.created_by = c.principal
		AND NOT EXISTS (SELECT 1 FROM first o WHERE o.workspace = c.workspace AND o.principal = c.principal AND o.created_by NOT IN (c.principal, c.maker)))
)
UPDATE api_keys SET bound_to = (SELECT coalesce(json_agg(DISTINCT c.root)::text, '[]') FROM chain c
	WHERE c.id = api_keys.id AND (api_keys.scopes <> '["member"]' OR c.root <> api_keys.principal))
WHERE id IN (SELECT id FROM chain);
