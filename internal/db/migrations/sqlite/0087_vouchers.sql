-- Vouchers and what was taken from them, in hundredths. No balance is below zero,
-- whatever a program does.
CREATE TABLE vouchers (
	nid         BIGINT PRIMARY KEY,
	ws          TEXT NOT NULL,
	voucher_id  TEXT NOT NULL,
	project     TEXT NOT NULL,
	recipient   TEXT NOT NULL,
	certificate TEXT NOT NULL,
	supplier    TEXT NOT NULL,
	value       BIGINT NOT NULL,
	balance     BIGINT NOT NULL CHECK (balance >= 0 AND balance <= value),
	currency    TEXT NOT NULL,
	state       TEXT NOT NULL,
	expires_at  BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	actor       TEXT NOT NULL,
	reason      TEXT NOT NULL,
	attributes  TEXT NOT NULL
);
CREATE UNIQUE INDEX vouchers_id ON vouchers (ws, voucher_id);
CREATE INDEX vouchers_newest ON vouchers (ws, nid);
CREATE INDEX vouchers_recipient ON vouchers (ws, recipient, nid);
CREATE INDEX vouchers_project ON vouchers (ws, project, nid);
CREATE TABLE voucher_redemptions (
	nid           BIGINT PRIMARY KEY,
	ws            TEXT NOT NULL,
	redemption_id TEXT NOT NULL,
	voucher       BIGINT NOT NULL,
	supplier      TEXT NOT NULL,
	amount        BIGINT NOT NULL CHECK (amount > 0),
	balance       BIGINT NOT NULL,
	product       TEXT NOT NULL,
	mode          TEXT NOT NULL,
	at            BIGINT NOT NULL,
	actor         TEXT NOT NULL
);
CREATE UNIQUE INDEX voucher_redemptions_id ON voucher_redemptions (ws, redemption_id);
CREATE INDEX voucher_redemptions_voucher ON voucher_redemptions (voucher, nid);
