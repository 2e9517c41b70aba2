-- What plugins keep may end by itself; 0 does not.
ALTER TABLE plugin_state ADD COLUMN expires_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX plugin_state_expiry ON plugin_state (expires_at) WHERE expires_at <> 0;
