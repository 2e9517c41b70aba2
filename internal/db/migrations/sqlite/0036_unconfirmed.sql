-- A DID that is not held here fills a required role only once a caller with the
-- scope * has confirmed the relationship: unconfirmed is 1 until then. Edges
-- that are there already count as they did.
ALTER TABLE relationships ADD COLUMN unconfirmed BIGINT NOT NULL DEFAULT 0;
