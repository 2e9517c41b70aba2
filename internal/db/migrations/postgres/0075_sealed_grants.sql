-- What a tool of strangers was when its user granted it or was asked about it: their
-- word ends when its description or schema changes. '' for tools of our own.
ALTER TABLE oracle_grants ADD COLUMN hash TEXT NOT NULL DEFAULT '';
ALTER TABLE oracle_confirmations ADD COLUMN seal TEXT NOT NULL DEFAULT '';
