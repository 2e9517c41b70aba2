-- Keys that seal what people told in surveys. The key of a project is sealed by
-- the server's own key, which is not in the store; the key of a household by
-- that of the project. Deleting a row erases what it sealed.
CREATE TABLE survey_project_keys (
	ws      TEXT   NOT NULL,
	project TEXT   NOT NULL,
	sealed  BLOB NOT NULL,
	made_at BIGINT NOT NULL,
	PRIMARY KEY (ws, project)
);

CREATE TABLE survey_household_keys (
	ws        TEXT   NOT NULL,
	household TEXT   NOT NULL,
	project   TEXT   NOT NULL,
	sealed    BLOB NOT NULL,
	made_at   BIGINT NOT NULL,
	PRIMARY KEY (ws, household, project)
);
