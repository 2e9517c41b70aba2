-- People who use the USSD line. pin is sealed by the key pin_key names, which
-- is not in the store, and bound to the row; pin_legacy is a PIN as an earlier
-- server kept it, until its owner logs in. pin_until is when a temporary PIN
-- ends, 0 for one of the owner's choice. size is 0 until the household is
-- registered. twins_asked counts how often the twins were asked for.
CREATE TABLE ussd_accounts (
	id            TEXT   PRIMARY KEY,
	ws            TEXT   NOT NULL,
	customer_id   TEXT   NOT NULL,
	name          TEXT   NOT NULL,
	email         TEXT   NOT NULL,
	phone         TEXT   NOT NULL,
	lang          TEXT   NOT NULL,
	did           TEXT   NOT NULL,
	household_did TEXT   NOT NULL,
	district      TEXT   NOT NULL,
	size          BIGINT NOT NULL,
	pin           BYTEA,
	pin_key       TEXT   NOT NULL,
	pin_legacy    TEXT   NOT NULL,
	pin_until     BIGINT NOT NULL,
	status        TEXT   NOT NULL,
	twins         TEXT   NOT NULL,
	twins_asked   BIGINT NOT NULL,
	revision      BIGINT NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX ussd_accounts_customer ON ussd_accounts (customer_id);
CREATE UNIQUE INDEX ussd_accounts_did ON ussd_accounts (did);
CREATE INDEX ussd_accounts_household ON ussd_accounts (household_did);
CREATE INDEX ussd_accounts_phone ON ussd_accounts (phone, id);
CREATE INDEX ussd_accounts_key ON ussd_accounts (pin_key, id);
CREATE INDEX ussd_accounts_status ON ussd_accounts (status, id);
CREATE INDEX ussd_accounts_twins ON ussd_accounts (twins, id);

-- Wrong tries on customer ids (whether or not somebody has them) and from
-- numbers. closed_until is the largest number when only an operator unlocks.
CREATE TABLE ussd_locks (
	kind         TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	wrong        BIGINT NOT NULL,
	closed_until BIGINT NOT NULL,
	last_at      BIGINT NOT NULL,
	PRIMARY KEY (kind, name)
);
CREATE INDEX ussd_locks_age ON ussd_locks (kind, last_at);

-- Codes sent to those who have forgotten their PIN, as keyed hashes. sent
-- counts those of the day that began at day_at.
CREATE TABLE ussd_resets (
	account    TEXT   PRIMARY KEY,
	code       BYTEA  NOT NULL,
	expires_at BIGINT NOT NULL,
	tries      BIGINT NOT NULL,
	sent       BIGINT NOT NULL,
	day_at     BIGINT NOT NULL
);
