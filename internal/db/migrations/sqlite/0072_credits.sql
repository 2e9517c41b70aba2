-- What users of the oracle may spend, what is held back for answers in the making,
-- and every change. Credits are whole numbers.
CREATE TABLE credit_accounts (
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  status TEXT NOT NULL,
  balance BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, did)
);
CREATE TABLE credit_holds (
  run TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  amount BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX credit_holds_account ON credit_holds (workspace, did, expires_at);
CREATE TABLE credit_entries (
  nid BIGINT PRIMARY KEY,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  kind TEXT NOT NULL,
  amount BIGINT NOT NULL,
  balance BIGINT NOT NULL,
  ref TEXT NOT NULL,
  note TEXT NOT NULL,
  by_did TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX credit_entries_ref ON credit_entries (workspace, did, ref);
CREATE INDEX credit_entries_newest ON credit_entries (workspace, did, nid);
