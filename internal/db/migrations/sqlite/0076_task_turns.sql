-- Whether the owner of a task signs or has a key: DIDs cost nothing, so those who sign
-- share a part of the answers that are in the making.
ALTER TABLE oracle_tasks ADD COLUMN signed INTEGER NOT NULL DEFAULT 1;
UPDATE oracle_tasks SET signed = 0 WHERE user_did LIKE '% %';
CREATE INDEX oracle_tasks_turns ON oracle_tasks (signed, due_at) WHERE due_at IS NOT NULL;
