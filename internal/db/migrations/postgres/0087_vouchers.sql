-- Vouchers and what was taken from them, in hundredths. No balance is below zero,
-- whatever a program does.
CREATE TABLE vouchers (
	nid         BIGINT PRIMARY KEY,
	ws          TEXT COLLATE "C" NOT NULL,
	voucher_id  TEXT COLLATE "C" NOT NULL,
	project     TEXT COLLATE "C" NOT NULL,
	recipient   TEXT COLLATE "C" NOT NULL,
	certificate TEXT COLLATE "C" NOT NULL,
	supplier    TEXT COLLATE "C" NOT NULL,
	value       BIGINT NOT NULL,
	balance     BIGINT NOT NULL CHECK (balance >= 0 AND balance <= value),
	currency    TEXT COLLATE "C" NOT NULL,
	state       TEXT COLLATE "C" NOT NULL,
	expires_at  BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	actor       TEXT COLLATE "C" NOT NULL,
	reason      TEXT COLLATE "C" NOT NULL,
	attributes  TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX vouchers_id ON vouchers (ws, voucher_id);
CREATE INDEX vouchers_newest ON vouchers (ws, nid);
CREATE INDEX vouchers_recipient ON vouchers (ws, recipient, nid);
CREATE INDEX vouchers_project ON vouchers (ws, project, nid);
CREATE TABLE voucher_redemptions (
	nid           BIGINT PRIMARY KEY,
	ws            TEXT COLLATE "C" NOT NULL,
	redemption_id TEXT COLLATE "C" NOT NULL,
	voucher       BIGINT NOT NULL,
	supplier      TEXT COLLATE "C" NOT NULL,
	amount        BIGINT NOT NULL CHECK (amount > 0),
	balance       BIGINT NOT NULL,
	product       TEXT COLLATE "C" NOT NULL,
	mode          TEXT COLLATE "C" NOT NULL,
	at            BIGINT NOT NULL,
	actor         TEXT COLLATE "C" NOT NULL
);
CREATE UNIQUE INDEX voucher_redemptions_id ON voucher_redemptions (ws, redemption_id);
CREATE INDEX voucher_redemptions_voucher ON voucher_redemptions (voucher, nid);
