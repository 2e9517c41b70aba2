-- What was claimed of a twin, of all kinds, for when it becomes part of another one.
CREATE INDEX claim_cover_node ON claim_cover (node, kind);

-- What was promised in vouchers from a credential, in hundredths.
CREATE TABLE voucher_totals (
	ws          TEXT   NOT NULL,
	certificate TEXT   NOT NULL,
	currency    TEXT   NOT NULL,
	value       BIGINT NOT NULL,
	PRIMARY KEY (ws, certificate, currency)
);
INSERT INTO voucher_totals (ws, certificate, currency, value) SELECT ws, certificate, currency, sum(value) FROM vouchers GROUP BY ws, certificate, currency;
