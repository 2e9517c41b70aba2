-- The words people look for twins by: each word of a name, the digits of a
-- telephone number with and without what countries put before them, and the
-- names of places, whole and from their second word on. kind is the property a
-- word comes from, which says who may find by it. The triggers keep the words
-- with their twin.
CREATE TABLE entity_words (
	ws   TEXT   COLLATE "C" NOT NULL,
	kind TEXT   COLLATE "C" NOT NULL,
	word TEXT   COLLATE "C" NOT NULL,
	nid  BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, word, nid)
);

CREATE VIEW entity_terms AS
	SELECT e.nid, e.ws, 'name' AS kind, substr(w.value, 1, 100) AS word
		FROM entities e, regexp_split_to_table(lower(e.name COLLATE "C"), '[-(,/ ]') WITH ORDINALITY w (value, key)
		WHERE e.name <> '' AND w.key <= 20
	UNION ALL
	SELECT nid, ws, 'phone', ltrim(digits, '0')
		FROM (SELECT nid, ws, substr(translate(body::json #>> '{properties,phone}', ' -()+', ''), 1, 40) AS digits
			FROM entities WHERE strpos(body, '"phone"') > 0 AND json_typeof(body::json #> '{properties,phone}') = 'string') p
	UNION ALL
	SELECT nid, ws, 'phone', ltrim(right(digits, 9), '0')
		FROM (SELECT nid, ws, substr(translate(body::json #>> '{properties,phone}', ' -()+', ''), 1, 40) AS digits
			FROM entities WHERE strpos(body, '"phone"') > 0 AND json_typeof(body::json #> '{properties,phone}') = 'string') p
	UNION ALL
	SELECT e.nid, e.ws, p.kind, substr(CASE w.key WHEN 1 THEN lower((e.body::json #>> p.path) COLLATE "C") ELSE w.value END, 1, 100)
		FROM entities e,
			(VALUES ('district', '{properties,district}'::text[]), ('village', '{properties,village}'::text[]),
				('location', '{properties,location,district}'::text[]), ('location', '{properties,location,village}'::text[])) p (kind, path),
			regexp_split_to_table(lower((e.body::json #>> p.path) COLLATE "C"), ' ') WITH ORDINALITY w (value, key)
		WHERE (strpos(e.body, '"district"') > 0 OR strpos(e.body, '"village"') > 0) AND json_typeof(e.body::json #> p.path) = 'string' AND w.key <= 20;

INSERT INTO entity_words (ws, kind, word, nid) SELECT ws, kind, word, nid FROM entity_terms WHERE word <> '' ON CONFLICT (ws, kind, word, nid) DO NOTHING;

CREATE FUNCTION entities_words_old() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	DELETE FROM entity_words WHERE (ws, kind, word, nid) IN (SELECT ws, kind, word, nid FROM entity_terms WHERE nid = OLD.nid);
	IF TG_OP = 'DELETE' THEN
		RETURN OLD;
	END IF;
	RETURN NEW;
END $$;
CREATE FUNCTION entities_words_new() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
	INSERT INTO entity_words (ws, kind, word, nid) SELECT ws, kind, word, nid FROM entity_terms WHERE nid = NEW.nid AND word <> ''
		ON CONFLICT (ws, kind, word, nid) DO NOTHING;
	RETURN NULL;
END $$;
CREATE FUNCTION entity_words_of(name TEXT, body TEXT) RETURNS TEXT IMMUTABLE LANGUAGE sql AS $$
	SELECT json_build_array(name, body::json #> '{properties,phone}', body::json #> '{properties,district}', body::json #> '{properties,village}',
		body::json #> '{properties,location,district}', body::json #> '{properties,location,village}')::text
$$;
CREATE TRIGGER entities_words_in AFTER INSERT ON entities FOR EACH ROW EXECUTE FUNCTION entities_words_new();
CREATE TRIGGER entities_words_out BEFORE DELETE ON entities FOR EACH ROW EXECUTE FUNCTION entities_words_old();
CREATE TRIGGER entities_words_old BEFORE UPDATE OF name, body ON entities FOR EACH ROW
	WHEN (entity_words_of(OLD.name, OLD.body) <> entity_words_of(NEW.name, NEW.body)) EXECUTE FUNCTION entities_words_old();
CREATE TRIGGER entities_words_new AFTER UPDATE OF name, body ON entities FOR EACH ROW
	WHEN (entity_words_of(OLD.name, OLD.body) <> entity_words_of(NEW.name, NEW.body)) EXECUTE FUNCTION entities_words_new();
