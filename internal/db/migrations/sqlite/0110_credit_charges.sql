-- What answers cost, in a table of its own that is its own index: an entry beside
-- top-ups is a row and three indexes, and there is one for every answer.
CREATE TABLE credit_charges (
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  nid BIGINT NOT NULL,
  run TEXT NOT NULL,
  amount BIGINT NOT NULL,
  balance BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, did, nid)
) WITHOUT ROWID;
