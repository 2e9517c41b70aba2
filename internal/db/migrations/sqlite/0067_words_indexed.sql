-- The words people look for twins by are entries of the property index. Those who
-- store a twin make them: a trigger had to read each new record again. pid is
-- below zero for them, one number for each property; val begins with the workspace.
DROP TRIGGER entities_words_in;
DROP TRIGGER entities_words_out;
DROP TRIGGER entities_words_old;
DROP TRIGGER entities_words_new;

INSERT OR IGNORE INTO entity_props (pid, val, nid)
	SELECT CASE kind WHEN 'name' THEN -1 WHEN 'phone' THEN -2 WHEN 'district' THEN -3 WHEN 'village' THEN -4 ELSE -5 END, ws || char(31) || word, nid FROM entity_words;

DROP VIEW entity_terms;
DROP TABLE entity_words;
