-- Who is told about events. seen is the last event looked at for the webhook;
-- replay_next to replay_to is a range still to be sent again, 0 for none. The
-- secrets are sealed with the server key. A deleted row stays, invisible, until
-- its deliveries are gone.
CREATE TABLE webhooks (
	nid         BIGINT  NOT NULL PRIMARY KEY,
	ws          TEXT    NOT NULL,
	id          TEXT    NOT NULL,
	url         TEXT    NOT NULL,
	events      TEXT    NOT NULL,
	description TEXT    NOT NULL,
	active      BOOLEAN NOT NULL,
	reason      TEXT    NOT NULL,
	secret      BYTEA   NOT NULL,
	old_secret  BYTEA,
	old_until   BIGINT  NOT NULL,
	revision    BIGINT  NOT NULL,
	created_at  BIGINT  NOT NULL,
	updated_at  BIGINT  NOT NULL,
	seen        BIGINT  NOT NULL,
	replay_next BIGINT  NOT NULL,
	replay_to   BIGINT  NOT NULL,
	deleted     BOOLEAN NOT NULL
);
CREATE UNIQUE INDEX webhooks_id ON webhooks (ws, id);
CREATE INDEX webhooks_list ON webhooks (ws, nid) WHERE NOT deleted;
CREATE INDEX webhooks_active ON webhooks (nid) WHERE active;
CREATE INDEX webhooks_deleted ON webhooks (nid) WHERE deleted;

-- One event on its way to one webhook. While pending, next_at is when it may
-- be taken up: the next attempt, or the end of the lease of lease_owner.
CREATE TABLE webhook_deliveries (
	webhook     TEXT   NOT NULL,
	seq         BIGINT NOT NULL,
	type        TEXT   NOT NULL,
	status      TEXT   NOT NULL,
	attempts    BIGINT NOT NULL,
	next_at     BIGINT NOT NULL,
	lease_owner TEXT   NOT NULL,
	last_status BIGINT NOT NULL,
	last_error  TEXT   NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	done_at     BIGINT,
	PRIMARY KEY (webhook, seq)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, next_at, seq) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (webhook, status, seq);
CREATE INDEX webhook_deliveries_done ON webhook_deliveries (done_at) WHERE done_at IS NOT NULL;
