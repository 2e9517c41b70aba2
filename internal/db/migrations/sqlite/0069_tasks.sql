-- What the oracle is asked by time. user_did is the name its owner talks under;
-- workspace and did say who that is, so that an erasure finds it. due_at is when an
-- instance looks at a task: when it is planned, or later while one has it in hand.
CREATE TABLE oracle_tasks (
  nid BIGINT PRIMARY KEY,
  id TEXT NOT NULL,
  user_did TEXT NOT NULL,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  owner TEXT NOT NULL,
  title TEXT NOT NULL,
  prompt TEXT NOT NULL,
  cron TEXT NOT NULL,
  zone TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  planned_at BIGINT,
  due_at BIGINT,
  once_at BIGINT,
  waits_since BIGINT,
  last_at BIGINT,
  last_run TEXT NOT NULL,
  last_error TEXT NOT NULL,
  session TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX oracle_tasks_id ON oracle_tasks (user_did, id);
CREATE INDEX oracle_tasks_newest ON oracle_tasks (user_did, nid);
CREATE INDEX oracle_tasks_due ON oracle_tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX oracle_tasks_person ON oracle_tasks (workspace, did);
