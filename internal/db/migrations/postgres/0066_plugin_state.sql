-- What plugins keep for users, and for a conversation of theirs (session is 0 where it
-- is for all of them). user_did is the name a user talks under; workspace and did say
-- who that is, so that an erasure finds it.
CREATE TABLE plugin_state (
  plugin TEXT NOT NULL,
  user_did TEXT NOT NULL,
  session BIGINT NOT NULL,
  name TEXT NOT NULL,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  value TEXT NOT NULL,
  updated_at BIGINT NOT NULL,
  PRIMARY KEY (plugin, user_did, session, name)
);
CREATE INDEX plugin_state_session ON plugin_state (session) WHERE session <> 0;
CREATE INDEX plugin_state_person ON plugin_state (workspace, did) WHERE session = 0;
