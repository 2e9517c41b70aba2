-- The runs of a user that are at work: SQLite took the index of all their runs for it.
DROP INDEX oracle_runs_live;
CREATE INDEX oracle_runs_live ON oracle_runs (user_did, session) WHERE ended_at IS NULL;
