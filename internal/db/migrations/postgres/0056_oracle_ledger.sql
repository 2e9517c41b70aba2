-- Runs are listed by their user and by workspace, newest first. usage holds what
-- was used, the steps and why it failed, never what was said.
ALTER TABLE oracle_runs ADD COLUMN workspace TEXT NOT NULL DEFAULT 'default';
CREATE INDEX oracle_runs_workspace ON oracle_runs (workspace, nid);
CREATE INDEX oracle_runs_user ON oracle_runs (user_did, nid);
