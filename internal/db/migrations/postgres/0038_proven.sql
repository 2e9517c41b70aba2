-- A key is known to be hers (1) once it has signed for the DID, or somebody with
-- the scope * has put it there or confirmed it. Anybody can write somebody else's
-- key on a twin of theirs. Keys of before count as they did.
ALTER TABLE entity_keys ADD COLUMN proven BIGINT NOT NULL DEFAULT 0;
UPDATE entity_keys SET proven = 1;
