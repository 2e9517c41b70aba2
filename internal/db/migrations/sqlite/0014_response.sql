-- Responses. body is the record as it is sent, all but answers, verification,
-- flags and revision, which are added when it is shown. answers are those that
-- tell nothing about a person; sealed holds the others, and masked where they
-- stand. slot is 0 for the one response a household has in a round and the nid
-- for any other: those that were superseded, and all of a survey that takes
-- several. The hashes are of the content as it was sent, now and at first; they
-- are made with the server's own key, so that nobody can try out contents.
CREATE TABLE responses (
	nid          INTEGER PRIMARY KEY,
	ws           TEXT   NOT NULL,
	response_id  TEXT   NOT NULL,
	survey       BIGINT NOT NULL,
	round        BIGINT NOT NULL,
	household    TEXT   NOT NULL,
	slot         BIGINT NOT NULL,
	stratum      TEXT   NOT NULL,
	grp          TEXT   NOT NULL,
	status       TEXT   NOT NULL,
	vstatus      TEXT   NOT NULL,
	verifier     TEXT   NOT NULL,
	verified_at  BIGINT NOT NULL,
	reviews      BIGINT NOT NULL,
	flags        BIGINT NOT NULL,
	files        BIGINT NOT NULL,
	collector    TEXT   NOT NULL,
	sender       TEXT   NOT NULL,
	submitted_at BIGINT NOT NULL,
	received_at  BIGINT NOT NULL,
	updated_at   BIGINT NOT NULL,
	revision     BIGINT NOT NULL,
	rev_action   TEXT   NOT NULL,
	rev_actor    TEXT   NOT NULL,
	rev_request  TEXT   NOT NULL,
	rev_reason   TEXT   NOT NULL,
	first_hash   BLOB   NOT NULL,
	hash         BLOB   NOT NULL,
	body         TEXT   NOT NULL,
	answers      TEXT   NOT NULL,
	masked       TEXT   NOT NULL,
	sealed       BLOB
);
CREATE UNIQUE INDEX responses_id ON responses (ws, response_id);
CREATE UNIQUE INDEX responses_household ON responses (ws, household, survey, round, slot);
CREATE INDEX responses_list ON responses (survey, nid);
CREATE INDEX responses_status ON responses (survey, vstatus, nid);

-- Earlier revisions of responses.
CREATE TABLE response_history (
	response BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	action   TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	request  TEXT   NOT NULL,
	reason   TEXT   NOT NULL,
	status   TEXT   NOT NULL,
	vstatus  TEXT   NOT NULL,
	verifier TEXT   NOT NULL,
	verified_at BIGINT NOT NULL,
	reviews  BIGINT NOT NULL,
	body     TEXT   NOT NULL,
	answers  TEXT   NOT NULL,
	masked   TEXT   NOT NULL,
	sealed   BLOB,
	PRIMARY KEY (response, revision)
);

-- What checks have found. source is submit for the checks of one response, and
-- the name of the run for those that look at many.
CREATE TABLE response_flags (
	response BIGINT NOT NULL,
	rule     TEXT   NOT NULL,
	question TEXT   NOT NULL,
	survey   BIGINT NOT NULL,
	source   TEXT   NOT NULL,
	at       BIGINT NOT NULL,
	data     TEXT   NOT NULL,
	PRIMARY KEY (response, rule, question)
) WITHOUT ROWID;
CREATE INDEX response_flags_survey ON response_flags (survey, rule, response, question);
CREATE INDEX response_flags_source ON response_flags (survey, source, response) WHERE source <> 'submit';

-- Decisions about responses, never changed. reviews is how many have approved
-- with it.
CREATE TABLE response_decisions (
	nid       INTEGER PRIMARY KEY,
	response  BIGINT NOT NULL,
	from_st   TEXT   NOT NULL,
	to_st     TEXT   NOT NULL,
	verifier  TEXT   NOT NULL,
	at        BIGINT NOT NULL,
	reason    TEXT   NOT NULL,
	notes     TEXT   NOT NULL,
	imported  BIGINT NOT NULL,
	revision  BIGINT NOT NULL,
	request   TEXT   NOT NULL,
	reviews   BIGINT NOT NULL
);
CREATE INDEX response_decisions_of ON response_decisions (response, nid);

-- Responses of a batch that clashed with stored ones: both stay until somebody
-- decides, and after. response is the stored one; household that of the sent
-- one, whose key seals it.
CREATE TABLE response_conflicts (
	nid         INTEGER PRIMARY KEY,
	ws          TEXT   NOT NULL,
	survey      BIGINT NOT NULL,
	response    BIGINT NOT NULL,
	response_id TEXT   NOT NULL,
	sent_id     TEXT   NOT NULL,
	household   TEXT   NOT NULL,
	code        TEXT   NOT NULL,
	sender      TEXT   NOT NULL,
	at          BIGINT NOT NULL,
	hash        BLOB   NOT NULL,
	resolved_at BIGINT NOT NULL,
	resolved_by TEXT   NOT NULL,
	resolution  TEXT   NOT NULL,
	reason      TEXT   NOT NULL,
	sealed      BLOB   NOT NULL
);
CREATE INDEX response_conflicts_open ON response_conflicts (survey, resolved_at, nid);
CREATE UNIQUE INDEX response_conflicts_once ON response_conflicts (response, hash);

-- Attachments by the hash of their bytes. loose is since when no response uses
-- it, 0 when one does. The bytes are in sealed pieces. attachment_files are
-- pieces that belong to no attachment: they arrive since at, or wait to be
-- removed when that is 0. A use is private when the answer is about a person.
CREATE TABLE attachments (
	ws         TEXT   NOT NULL,
	sha256     TEXT   NOT NULL,
	file       BIGINT NOT NULL,
	media_type TEXT   NOT NULL,
	bytes      BIGINT NOT NULL,
	sender     TEXT   NOT NULL,
	at         BIGINT NOT NULL,
	loose      BIGINT NOT NULL,
	PRIMARY KEY (ws, sha256)
) WITHOUT ROWID;
CREATE INDEX attachments_loose ON attachments (loose, ws, sha256) WHERE loose > 0;
CREATE INDEX attachments_loose_of ON attachments (ws, loose) WHERE loose > 0;
CREATE TABLE attachment_files (
	nid INTEGER PRIMARY KEY,
	ws  TEXT   NOT NULL,
	at  BIGINT NOT NULL
);
CREATE INDEX attachment_files_old ON attachment_files (at, nid);
CREATE INDEX attachment_files_of ON attachment_files (ws, at);
CREATE TABLE attachment_pieces (
	file BIGINT NOT NULL,
	n    BIGINT NOT NULL,
	data BLOB   NOT NULL,
	PRIMARY KEY (file, n)
);
CREATE TABLE attachment_uses (
	ws       TEXT   NOT NULL,
	sha256   TEXT   NOT NULL,
	survey   BIGINT NOT NULL,
	response BIGINT NOT NULL,
	private  BIGINT NOT NULL,
	PRIMARY KEY (ws, sha256, survey, response)
) WITHOUT ROWID;
CREATE INDEX attachment_uses_of ON attachment_uses (response, sha256);
