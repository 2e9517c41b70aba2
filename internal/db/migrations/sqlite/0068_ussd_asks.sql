-- Questions that handsets have asked the oracle: how many a number asks, and where
-- the answer is until somebody has looked at it. Kept for a day.
CREATE TABLE ussd_asks (
  id TEXT PRIMARY KEY,
  phone TEXT NOT NULL,
  account TEXT NOT NULL,
  user_did TEXT NOT NULL,
  run TEXT NOT NULL,
  lang TEXT NOT NULL,
  asked_at BIGINT NOT NULL
);
CREATE INDEX ussd_asks_phone ON ussd_asks (phone, asked_at);
CREATE INDEX ussd_asks_user ON ussd_asks (user_did);
CREATE INDEX ussd_asks_at ON ussd_asks (asked_at);
