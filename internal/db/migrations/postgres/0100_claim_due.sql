-- Which claims the server looks at by itself, from when on, and what it has evaluated.
ALTER TABLE claims ADD COLUMN due BIGINT NOT NULL DEFAULT 0;
ALTER TABLE claim_evaluations ADD COLUMN automatic BIGINT NOT NULL DEFAULT 0;
CREATE INDEX claims_due ON claims (due, nid) WHERE due <> 0 AND status = 'pending';
CREATE INDEX claims_due_ws ON claims (ws, due, nid) WHERE due <> 0 AND status = 'pending';
