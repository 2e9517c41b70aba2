-- The words people look for twins by are entries of the property index. Those who
-- store a twin make them: a trigger had to read each new record again. pid is
-- below zero for them, one number for each property; val begins with the workspace.
DROP TRIGGER entities_words_in ON entities;
DROP TRIGGER entities_words_out ON entities;
DROP TRIGGER entities_words_old ON entities;
DROP TRIGGER entities_words_new ON entities;
DROP FUNCTION entities_words_old();
DROP FUNCTION entities_words_new();
DROP FUNCTION entity_words_of(TEXT, TEXT);

INSERT INTO entity_props (pid, val, nid)
	SELECT CASE kind WHEN 'name' THEN -1 WHEN 'phone' THEN -2 WHEN 'district' THEN -3 WHEN 'village' THEN -4 ELSE -5 END, ws || chr(31) || word, nid FROM entity_words
	ON CONFLICT (pid, val, nid) DO NOTHING;

DROP VIEW entity_terms;
DROP TABLE entity_words;
