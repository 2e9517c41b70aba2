-- What people type the beginning of: names and ids, with the letters A to Z in
-- lower case and in the order of their bytes.
ALTER TABLE entities ADD COLUMN name_key TEXT GENERATED ALWAYS AS (lower(name)) VIRTUAL;
CREATE INDEX entities_name ON entities (ws, name_key, nid) WHERE name <> '';
ALTER TABLE entity_externals ADD COLUMN value_key TEXT GENERATED ALWAYS AS (lower(value)) VIRTUAL;
CREATE INDEX entity_externals_key ON entity_externals (ws, value_key, scheme);
ALTER TABLE surveys ADD COLUMN id_key TEXT GENERATED ALWAYS AS (lower(survey_id)) VIRTUAL;
CREATE INDEX surveys_id_key ON surveys (ws, id_key);
ALTER TABLE surveys ADD COLUMN name_key TEXT GENERATED ALWAYS AS (lower(json_extract(body, '$.name'))) VIRTUAL;
CREATE INDEX surveys_name ON surveys (ws, name_key);
ALTER TABLE responses ADD COLUMN id_key TEXT GENERATED ALWAYS AS (lower(response_id)) VIRTUAL;
CREATE INDEX responses_id_key ON responses (ws, id_key);
ALTER TABLE principals ADD COLUMN name_key TEXT GENERATED ALWAYS AS (lower(name)) VIRTUAL;
CREATE INDEX principals_name ON principals (workspace, name_key);
