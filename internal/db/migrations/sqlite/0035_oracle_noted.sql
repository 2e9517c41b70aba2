-- Whether the DIDs that a conversation has come to know are all in oracle_about.
-- Those of before have to be read for that, which the server does later.
ALTER TABLE chat_sessions ADD COLUMN noted BIGINT NOT NULL DEFAULT 0;
CREATE INDEX chat_sessions_unnoted ON chat_sessions (nid) WHERE noted = 0;
