-- Whom a workspace has erased: about these households nothing new is stored.
-- Whoever erases fills it with the certificate.
CREATE TABLE survey_erased (
	ws        TEXT NOT NULL,
	household TEXT NOT NULL,
	PRIMARY KEY (ws, household)
) WITHOUT ROWID;
INSERT INTO survey_erased (ws, household) SELECT DISTINCT ws, subject FROM erasures;
