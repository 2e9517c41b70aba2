-- Whoever came by invitation is a person, whose keys nobody else rotates.
UPDATE principals SET kind = 'person' WHERE kind = 'service'
AND EXISTS (SELECT 1 FROM invites i WHERE i.ws = principals.workspace AND i.principal = principals.did AND i.made <> '');

-- An invitation that waits ends with the key that made it.
UPDATE invites SET revoked_at = (SELECT k.revoked_at FROM api_keys k WHERE k.workspace = invites.ws AND k.id = invites.key_id)
WHERE used_at IS NULL AND revoked_at IS NULL;
UPDATE invites SET ends_at = (SELECT min(invites.ends_at, coalesce(k.expires_at, invites.ends_at), coalesce(k.grace_until, invites.ends_at))
	FROM api_keys k WHERE k.workspace = invites.ws AND k.id = invites.key_id)
WHERE used_at IS NULL AND revoked_at IS NULL AND EXISTS (SELECT 1 FROM api_keys k WHERE k.workspace = invites.ws AND k.id = invites.key_id);

-- Those of one key, to list and to end, and how many of one maker wait.
CREATE INDEX invites_key ON invites (ws, key_id, id);
CREATE INDEX invites_maker ON invites (ws, created_by, ends_at) WHERE used_at IS NULL AND revoked_at IS NULL;
