-- Whether words of people about a claim were erased with the person it is about.
ALTER TABLE claim_evaluations ADD COLUMN erased BIGINT NOT NULL DEFAULT 0;
ALTER TABLE claim_disputes ADD COLUMN erased BIGINT NOT NULL DEFAULT 0;
