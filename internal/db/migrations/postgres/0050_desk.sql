-- What waits for a decision in all surveys, and who looks at which response for a
-- few minutes.
CREATE INDEX responses_waiting ON responses (ws, vstatus, nid);

CREATE TABLE response_claims (
	response BIGINT NOT NULL PRIMARY KEY,
	ws       TEXT   NOT NULL,
	verifier TEXT   NOT NULL,
	until    BIGINT NOT NULL
);
CREATE INDEX response_claims_old ON response_claims (ws, until);
