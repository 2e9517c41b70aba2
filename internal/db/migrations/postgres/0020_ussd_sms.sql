-- Text messages. Number and text are sealed by the server's own key and removed
-- once the message was sent or given up. number is a keyed hash of the number,
-- to count and to erase by; about the DID of whose message it is, or ''.
CREATE TABLE sms_messages (
	id          TEXT   PRIMARY KEY,
	about       TEXT   NOT NULL,
	number      TEXT   NOT NULL,
	recipient   BYTEA,
	body        BYTEA,
	status      TEXT   NOT NULL,
	attempts    BIGINT NOT NULL,
	provider_id TEXT   NOT NULL,
	error       TEXT   NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL
);
CREATE INDEX sms_messages_about ON sms_messages (about);
CREATE INDEX sms_messages_number ON sms_messages (number, created_at);
CREATE INDEX sms_messages_age ON sms_messages (created_at);
