-- How a household was asked. The record says it; figures compare by it.
ALTER TABLE responses ADD COLUMN mode TEXT GENERATED ALWAYS AS (coalesce(body::json ->> 'mode', '')) STORED;
