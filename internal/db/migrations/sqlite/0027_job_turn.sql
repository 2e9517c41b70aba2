-- Kinds of jobs take turns: each finds its first job without passing those of
-- the others.
DROP INDEX jobs_due;
CREATE INDEX jobs_due ON jobs (kind, due_at) WHERE due_at IS NOT NULL;
