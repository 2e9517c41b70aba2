-- What is held back for answers in the making stands in the account it is held from:
-- a small object of runs. The table of holds stays until no program reads it.
ALTER TABLE credit_accounts ADD COLUMN holds TEXT NOT NULL DEFAULT '';
