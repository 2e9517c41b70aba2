-- Workspaces take turns, and then their kinds of jobs: each line finds its
-- first job without passing those of the others, and what is at work is read
-- without passing what waits.
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (ws, kind, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_running ON jobs (due_at, ws, kind) WHERE status = 'running' AND due_at IS NOT NULL;
