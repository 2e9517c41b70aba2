-- Which of the events of its types a webhook is sent; '' is all of them.
ALTER TABLE webhooks ADD COLUMN filter TEXT NOT NULL DEFAULT '';
