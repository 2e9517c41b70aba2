-- The serial number of what a claim is about, spelled alike: where another workspace has
-- claimed for the same, those who evaluate are told.
ALTER TABLE claims ADD COLUMN serial TEXT NOT NULL DEFAULT '';
CREATE INDEX claims_serial ON claims (kind, serial, ends) WHERE serial <> '';
