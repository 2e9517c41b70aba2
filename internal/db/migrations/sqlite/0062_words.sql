-- The words people look for twins by: each word of a name, the digits of a
-- telephone number with and without what countries put before them, and the
-- names of places, whole and from their second word on. kind is the property a
-- word comes from, which says who may find by it. The triggers keep the words
-- with their twin.
CREATE TABLE entity_words (
	ws   TEXT   NOT NULL,
	kind TEXT   NOT NULL,
	word TEXT   NOT NULL,
	nid  BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, word, nid)
) WITHOUT ROWID;

CREATE VIEW entity_terms AS
	SELECT e.nid, e.ws, 'name' AS kind, substr(w.value, 1, 100) AS word
		FROM entities e, json_each('[' || replace(json_quote(replace(replace(replace(replace(lower(e.name), '-', ' '), '(', ' '), ',', ' '), '/', ' ')), ' ', '","') || ']') w
		WHERE e.name <> '' AND w.key < 20
	UNION ALL
	SELECT nid, ws, 'phone', ltrim(digits, '0')
		FROM (SELECT nid, ws, substr(replace(replace(replace(replace(replace(json_extract(body, '$.properties.phone'), ' ', ''), '-', ''), '(', ''), ')', ''), '+', ''), 1, 40) AS digits
			FROM entities WHERE instr(body, '"phone"') > 0 AND json_type(body, '$.properties.phone') = 'text')
	UNION ALL
	SELECT nid, ws, 'phone', ltrim(substr(digits, -9), '0')
		FROM (SELECT nid, ws, substr(replace(replace(replace(replace(replace(json_extract(body, '$.properties.phone'), ' ', ''), '-', ''), '(', ''), ')', ''), '+', ''), 1, 40) AS digits
			FROM entities WHERE instr(body, '"phone"') > 0 AND json_type(body, '$.properties.phone') = 'text')
	UNION ALL
	SELECT e.nid, e.ws, p.kind, substr(CASE w.key WHEN 0 THEN lower(json_extract(e.body, p.path)) ELSE w.value END, 1, 100)
		FROM entities e,
			(SELECT 'district' AS kind, '$.properties.district' AS path UNION ALL SELECT 'village', '$.properties.village'
				UNION ALL SELECT 'location', '$.properties.location.district' UNION ALL SELECT 'location', '$.properties.location.village') p,
			json_each('[' || replace(json_quote(lower(json_extract(e.body, p.path))), ' ', '","') || ']') w
		WHERE (instr(e.body, '"district"') > 0 OR instr(e.body, '"village"') > 0) AND json_type(e.body, p.path) = 'text' AND w.key < 20;

INSERT OR IGNORE INTO entity_words (ws, kind, word, nid) SELECT ws, kind, word, nid FROM entity_terms WHERE word <> '';

CREATE TRIGGER entities_words_in AFTER INSERT ON entities BEGIN
	INSERT OR IGNORE INTO entity_words (ws, kind, word, nid) SELECT ws, kind, word, nid FROM entity_terms WHERE nid = NEW.nid AND word <> '';
END;
CREATE TRIGGER entities_words_out BEFORE DELETE ON entities BEGIN
	DELETE FROM entity_words WHERE (ws, kind, word, nid) IN (SELECT ws, kind, word, nid FROM entity_terms WHERE nid = OLD.nid);
END;
CREATE TRIGGER entities_words_old BEFORE UPDATE OF name, body ON entities WHEN OLD.name <> NEW.name
	OR json_extract(OLD.body, '$.properties.phone', '$.properties.district', '$.properties.village', '$.properties.location.district', '$.properties.location.village')
	<> json_extract(NEW.body, '$.properties.phone', '$.properties.district', '$.properties.village', '$.properties.location.district', '$.properties.location.village') BEGIN
	DELETE FROM entity_words WHERE (ws, kind, word, nid) IN (SELECT ws, kind, word, nid FROM entity_terms WHERE nid = OLD.nid);
END;
CREATE TRIGGER entities_words_new AFTER UPDATE OF name, body ON entities WHEN OLD.name <> NEW.name
	OR json_extract(OLD.body, '$.properties.phone', '$.properties.district', '$.properties.village', '$.properties.location.district', '$.properties.location.village')
	<> json_extract(NEW.body, '$.properties.phone', '$.properties.district', '$.properties.village', '$.properties.location.district', '$.properties.location.village') BEGIN
	INSERT OR IGNORE INTO entity_words (ws, kind, word, nid) SELECT ws, kind, word, nid FROM entity_terms WHERE nid = NEW.nid AND word <> '';
END;
