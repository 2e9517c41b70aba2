-- A verifier keeps a few responses from the others at once, and no more.
CREATE INDEX response_claims_own ON response_claims (ws, verifier, until);
