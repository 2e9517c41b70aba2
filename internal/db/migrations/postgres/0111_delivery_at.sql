-- When a delivery was made first, which a replay does not change; 0 for those of programs
-- before this.
ALTER TABLE webhook_deliveries ADD COLUMN at BIGINT NOT NULL DEFAULT 0;
