-- Who a user of the oracle is. user_did is the DID alone of one who signs; of one
-- who comes with a key it is workspace, DID and what the key was made with.
ALTER TABLE chat_users ADD COLUMN workspace TEXT NOT NULL DEFAULT 'default';
ALTER TABLE chat_users ADD COLUMN did TEXT NOT NULL DEFAULT '';
UPDATE chat_users SET did = user_did;
CREATE INDEX chat_users_principal ON chat_users (workspace, did);
