-- What a public tool gave to a handset that nobody is logged in at, when the line could
-- not wait for it: '' until then, and for all other questions.
ALTER TABLE ussd_asks ADD COLUMN answer TEXT NOT NULL DEFAULT '';
