-- Only SQLite takes the wrong index for what counts of a twin's relationships.
SELECT 1;
