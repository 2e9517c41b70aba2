-- The version of the protocol that decides about a claim is fixed when it is submitted.
ALTER TABLE claims ADD COLUMN protocol TEXT NOT NULL DEFAULT '';
ALTER TABLE claims ADD COLUMN version TEXT NOT NULL DEFAULT '';
UPDATE claims SET protocol = COALESCE((SELECT e.protocol FROM entities e WHERE e.nid = claims.subject), ''),
	version = COALESCE((SELECT e.protocol_version FROM entities e WHERE e.nid = claims.subject), '');
-- A claim that names no kind counts as one of every kind.
UPDATE claim_cover SET kind = '*' WHERE kind = 'claim';
