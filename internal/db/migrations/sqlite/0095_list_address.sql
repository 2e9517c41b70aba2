-- How the address of a status list begins: it stays when the server gets another name.
-- Older lists have none, and go by the name of the moment.
ALTER TABLE status_lists ADD COLUMN address TEXT NOT NULL DEFAULT '';
