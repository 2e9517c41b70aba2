-- From here on the tables of calls and of deliveries may have the time in their primary
-- key and be in parts, which programs before this cannot write to. The sweep turns them while
-- others work; this only says that nobody needs them as they were.
COMMENT ON TABLE ussd_walks IS 'may be in parts, by weeks of started_at';
COMMENT ON TABLE webhook_deliveries IS 'may be in parts, by weeks of at';
