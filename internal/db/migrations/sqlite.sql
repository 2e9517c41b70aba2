-- What the migrations make, for new stores. Written by go test ./internal/db -run TestNewStores -update. 82417b22b6ae509ac77e79c2da0bb811032a58a234e0370a9806973b6b8cd779
CREATE TABLE store_probe (
	id BIGINT PRIMARY KEY,
	at BIGINT NOT NULL
);
CREATE TABLE workspaces (
	id         TEXT   NOT NULL PRIMARY KEY,
	name       TEXT   NOT NULL,
	created_by TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	revision   BIGINT NOT NULL
) WITHOUT ROWID;
CREATE TABLE principals (
	workspace  TEXT   NOT NULL REFERENCES workspaces (id),
	did        TEXT   NOT NULL,
	kind       TEXT   NOT NULL,
	name       TEXT   NOT NULL,
	created_at BIGINT NOT NULL, name_key TEXT GENERATED ALWAYS AS (lower(name)) VIRTUAL,
	PRIMARY KEY (workspace, did)
) WITHOUT ROWID;
CREATE INDEX principals_kind ON principals (workspace, kind, created_at);
CREATE TABLE api_keys (
	id           TEXT   NOT NULL PRIMARY KEY,
	workspace    TEXT   NOT NULL,
	principal    TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	prefix       TEXT   NOT NULL,
	hash         BLOB   NOT NULL UNIQUE,
	scopes       TEXT   NOT NULL,
	projects     TEXT   NOT NULL,
	networks     TEXT   NOT NULL,
	created_by   TEXT   NOT NULL,
	created_at   BIGINT NOT NULL,
	expires_at   BIGINT,
	revoked_at   BIGINT,
	last_used_at BIGINT,
	grace_until  BIGINT,
	replaces     TEXT,
	replaced_by  TEXT,
	revision     BIGINT NOT NULL, bound_to TEXT NOT NULL DEFAULT '[]',
	FOREIGN KEY (workspace, principal) REFERENCES principals (workspace, did)
);
CREATE UNIQUE INDEX api_keys_list ON api_keys (workspace, id);
CREATE TABLE events (
	id          INTEGER PRIMARY KEY,
	ws          TEXT   NOT NULL,
	seq         BIGINT NOT NULL,
	type        TEXT   NOT NULL,
	subject     TEXT   NOT NULL,
	revision    BIGINT NOT NULL,
	actor       TEXT   NOT NULL,
	request_id  TEXT   NOT NULL,
	at          BIGINT NOT NULL,
	data        TEXT   NOT NULL,
	subject_key BIGINT NOT NULL,
	actor_key   BIGINT NOT NULL
);
CREATE UNIQUE INDEX events_seq ON events (ws, seq);
CREATE INDEX events_subject ON events (subject_key, seq);
CREATE INDEX events_actor ON events (actor_key, seq);
CREATE TABLE event_counters (
	ws   TEXT   NOT NULL PRIMARY KEY,
	last BIGINT NOT NULL
);
CREATE TABLE jobs (
	nid          INTEGER PRIMARY KEY,
	id           TEXT    NOT NULL UNIQUE,
	ws           TEXT    NOT NULL,
	kind         TEXT    NOT NULL,
	dedupe       TEXT,
	status       TEXT    NOT NULL,
	payload      TEXT    NOT NULL,
	state        TEXT,
	result       TEXT,
	errors       TEXT,
	done         BIGINT  NOT NULL DEFAULT 0,
	total        BIGINT  NOT NULL DEFAULT 0,
	note         TEXT    NOT NULL DEFAULT '',
	attempts     BIGINT  NOT NULL DEFAULT 0,
	max_attempts BIGINT  NOT NULL,
	due_at       BIGINT,
	owner        TEXT,
	cancel       BOOLEAN NOT NULL DEFAULT FALSE,
	revision     BIGINT  NOT NULL DEFAULT 1,
	created_by   TEXT    NOT NULL,
	caller       TEXT    NOT NULL,
	request_id   TEXT    NOT NULL,
	created_at   BIGINT  NOT NULL,
	started_at   BIGINT,
	finished_at  BIGINT
, about TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX jobs_dedupe ON jobs (ws, kind, dedupe) WHERE dedupe IS NOT NULL;
CREATE INDEX jobs_finished ON jobs (finished_at) WHERE finished_at IS NOT NULL;
CREATE INDEX jobs_list ON jobs (ws, nid);
CREATE INDEX jobs_list_status ON jobs (ws, status, nid);
CREATE INDEX jobs_list_kind ON jobs (ws, kind, nid);
CREATE TABLE job_slots (
	kind TEXT   PRIMARY KEY,
	slot BIGINT NOT NULL
);
CREATE TABLE idem (
	ws           TEXT   NOT NULL,
	key_hash     BLOB   NOT NULL,
	request_hash BLOB   NOT NULL,
	at           BIGINT NOT NULL,
	answer       BLOB,
	PRIMARY KEY (ws, key_hash)
);
CREATE INDEX idem_at ON idem (at);
CREATE TABLE webhooks (
	nid         BIGINT  NOT NULL PRIMARY KEY,
	ws          TEXT    NOT NULL,
	id          TEXT    NOT NULL,
	url         TEXT    NOT NULL,
	events      TEXT    NOT NULL,
	description TEXT    NOT NULL,
	active      BOOLEAN NOT NULL,
	reason      TEXT    NOT NULL,
	secret      BLOB    NOT NULL,
	old_secret  BLOB,
	old_until   BIGINT  NOT NULL,
	revision    BIGINT  NOT NULL,
	created_at  BIGINT  NOT NULL,
	updated_at  BIGINT  NOT NULL,
	seen        BIGINT  NOT NULL,
	replay_next BIGINT  NOT NULL,
	replay_to   BIGINT  NOT NULL,
	deleted     BOOLEAN NOT NULL
, filter TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX webhooks_id ON webhooks (ws, id);
CREATE INDEX webhooks_list ON webhooks (ws, nid) WHERE NOT deleted;
CREATE INDEX webhooks_active ON webhooks (nid) WHERE active;
CREATE INDEX webhooks_deleted ON webhooks (nid) WHERE deleted;
CREATE TABLE webhook_deliveries (
	webhook     TEXT   NOT NULL,
	seq         BIGINT NOT NULL,
	type        TEXT   NOT NULL,
	status      TEXT   NOT NULL,
	attempts    BIGINT NOT NULL,
	next_at     BIGINT NOT NULL,
	lease_owner TEXT   NOT NULL,
	last_status BIGINT NOT NULL,
	last_error  TEXT   NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	done_at     BIGINT, answer TEXT NOT NULL DEFAULT '', at BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (webhook, seq)
);
CREATE INDEX webhook_deliveries_due ON webhook_deliveries (webhook, next_at, seq) WHERE status = 'pending';
CREATE INDEX webhook_deliveries_status ON webhook_deliveries (webhook, status, seq);
CREATE INDEX webhook_deliveries_done ON webhook_deliveries (done_at) WHERE done_at IS NOT NULL;
CREATE TABLE server_proof (
	id     BIGINT PRIMARY KEY,
	sealed BLOB NOT NULL
);
CREATE TABLE protocols (
	ws         TEXT    NOT NULL,
	did        TEXT    NOT NULL,
	nid        BIGINT  NOT NULL,
	version    TEXT    NOT NULL,
	class      TEXT    NOT NULL,
	domain     TEXT    NOT NULL,
	open       BIGINT  NOT NULL, -- how many versions that were published allow undeclared properties
	versions   BIGINT  NOT NULL,
	updated_at BIGINT  NOT NULL,
	PRIMARY KEY (ws, did)
);
CREATE UNIQUE INDEX protocols_list ON protocols (ws, nid);
CREATE TABLE protocol_versions (
	ws         TEXT   NOT NULL,
	did        TEXT   NOT NULL,
	version    TEXT   NOT NULL,
	status     TEXT   NOT NULL,
	revision   BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	body       TEXT   NOT NULL,
	PRIMARY KEY (ws, did, version)
);
CREATE TABLE protocol_properties (
	ws       TEXT    NOT NULL,
	property TEXT    NOT NULL,
	did      TEXT    NOT NULL,
	kind     TEXT    NOT NULL,
	indexed  BOOLEAN NOT NULL,
	opens    BIGINT  NOT NULL,
	PRIMARY KEY (ws, property, did)
);
CREATE TABLE entities (
	nid              INTEGER PRIMARY KEY,
	ws               TEXT    NOT NULL,
	did              TEXT    NOT NULL,
	type             TEXT    NOT NULL,
	class            TEXT    NOT NULL,
	domain_type      TEXT    NOT NULL,
	protocol         TEXT    NOT NULL,
	protocol_version TEXT    NOT NULL,
	project          TEXT    NOT NULL,
	name             TEXT    NOT NULL,
	status           TEXT    NOT NULL,
	revision         BIGINT  NOT NULL,
	crowded          BIGINT  NOT NULL,
	chosen           BIGINT  NOT NULL DEFAULT 1,
	type_key         BIGINT  NOT NULL,
	protocol_key     BIGINT  NOT NULL,
	project_key      BIGINT,
	status_key       BIGINT,
	created_at       BIGINT  NOT NULL,
	updated_at       BIGINT  NOT NULL,
	rev_action       TEXT    NOT NULL,
	rev_actor        TEXT    NOT NULL,
	rev_request      TEXT    NOT NULL,
	rev_reason       TEXT    NOT NULL,
	rev_hash         BLOB    NOT NULL,
	body             TEXT    NOT NULL
, stated BIGINT NOT NULL DEFAULT 0, name_key TEXT GENERATED ALWAYS AS (lower(name)) VIRTUAL);
CREATE UNIQUE INDEX entities_did ON entities (did, ws);
CREATE INDEX entities_list ON entities (ws, nid);
CREATE INDEX entities_updated ON entities (ws, updated_at, nid);
CREATE INDEX entities_type ON entities (type_key, nid);
CREATE INDEX entities_protocol ON entities (protocol_key, nid);
CREATE INDEX entities_project ON entities (project_key, nid) WHERE project_key IS NOT NULL;
CREATE INDEX entities_status ON entities (status_key, nid) WHERE status_key IS NOT NULL;
CREATE TABLE entity_history (
	nid      BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	action   TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	request  TEXT   NOT NULL,
	reason   TEXT   NOT NULL,
	hash     BLOB   NOT NULL,
	body     TEXT   NOT NULL, stated BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (nid, revision)
);
CREATE INDEX entity_history_at ON entity_history (nid, at, revision);
CREATE TABLE entity_props (
	pid BIGINT NOT NULL,
	val TEXT   NOT NULL,
	nid BIGINT NOT NULL,
	PRIMARY KEY (pid, val, nid)
) WITHOUT ROWID;
CREATE TABLE entity_externals (
	ws     TEXT   NOT NULL,
	value  TEXT   NOT NULL,
	scheme TEXT   NOT NULL,
	nid    BIGINT NOT NULL, value_key TEXT GENERATED ALWAYS AS (lower(value)) VIRTUAL,
	PRIMARY KEY (ws, value, scheme)
) WITHOUT ROWID;
CREATE TABLE relationships (
	nid        INTEGER PRIMARY KEY,
	ws         TEXT    NOT NULL,
	src        BIGINT  NOT NULL,
	src_did    TEXT    NOT NULL,
	dst        BIGINT  NOT NULL,
	dst_did    TEXT    NOT NULL,
	role       TEXT    NOT NULL,
	mirror     BIGINT,
	since      BIGINT,
	until      BIGINT,
	source     TEXT    NOT NULL,
	added_at   BIGINT  NOT NULL,
	added_by   TEXT    NOT NULL,
	removed_at BIGINT,
	removed_by TEXT    NOT NULL,
	reason     TEXT    NOT NULL
, unconfirmed BIGINT NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX relationships_once ON relationships (src, role, dst_did) WHERE removed_at IS NULL;
CREATE INDEX relationships_mirror ON relationships (mirror, nid) WHERE mirror IS NOT NULL AND removed_at IS NULL;
CREATE TABLE group_members (
	ws       TEXT   NOT NULL,
	member   TEXT   NOT NULL,
	grp      BIGINT NOT NULL,
	added_at BIGINT NOT NULL,
	added_by TEXT   NOT NULL,
	PRIMARY KEY (ws, member, grp)
) WITHOUT ROWID;
CREATE UNIQUE INDEX group_members_list ON group_members (grp, member);
CREATE TABLE group_counts (
	ws   TEXT   NOT NULL,
	kind TEXT   NOT NULL,
	did  TEXT   NOT NULL,
	n    BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, did)
) WITHOUT ROWID;
CREATE TABLE erasures (
	ws      TEXT   NOT NULL,
	nid     BIGINT NOT NULL,
	subject TEXT   NOT NULL,
	at      BIGINT NOT NULL,
	body    TEXT   NOT NULL, done_at BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (ws, nid)
) WITHOUT ROWID;
CREATE INDEX erasures_subject ON erasures (ws, subject, nid);
CREATE TABLE device_readings (
	device      BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	temperature REAL,
	data        TEXT   NOT NULL,
	PRIMARY KEY (device, at)
) WITHOUT ROWID;
CREATE TABLE device_status (
	device      INTEGER PRIMARY KEY,
	battery     REAL,
	signal      TEXT   NOT NULL,
	last_sync   BIGINT NOT NULL,
	received_at BIGINT NOT NULL
, dirty_from BIGINT, dirty_to BIGINT, told_at BIGINT NOT NULL DEFAULT 0, pend_count BIGINT NOT NULL DEFAULT 0, pend_from BIGINT NOT NULL DEFAULT 0, pend_to BIGINT NOT NULL DEFAULT 0, pend_gaps BIGINT NOT NULL DEFAULT 0, pend_missing BIGINT NOT NULL DEFAULT 0, trimmed BIGINT NOT NULL DEFAULT 0);
CREATE TABLE transfers (
	job        TEXT   PRIMARY KEY,
	ws         TEXT   NOT NULL,
	kind       TEXT   NOT NULL,
	file       TEXT   NOT NULL,
	settings   TEXT   NOT NULL,
	counts     TEXT   NOT NULL,
	created_at BIGINT NOT NULL
, about BIGINT NOT NULL DEFAULT 0);
CREATE INDEX transfers_age ON transfers (created_at);
CREATE INDEX transfers_ws ON transfers (ws, job);
CREATE TABLE transfer_rows (
	job  TEXT    NOT NULL,
	line BIGINT  NOT NULL,
	ok   BOOLEAN NOT NULL,
	data TEXT    NOT NULL,
	PRIMARY KEY (job, line)
) WITHOUT ROWID;
CREATE INDEX transfer_rows_refused ON transfer_rows (job, line) WHERE NOT ok;
CREATE TABLE transfer_files (
	id     TEXT   PRIMARY KEY,
	ws     TEXT   NOT NULL,
	kind   TEXT   NOT NULL,
	job    TEXT   NOT NULL,
	bytes  BIGINT NOT NULL,
	sha256 TEXT   NOT NULL,
	at     BIGINT NOT NULL
);
CREATE INDEX transfer_files_ws ON transfer_files (ws);
CREATE INDEX transfer_files_age ON transfer_files (kind, at, id);
CREATE TABLE transfer_pieces (
	file TEXT   NOT NULL,
	n    BIGINT NOT NULL,
	data BLOB   NOT NULL,
	PRIMARY KEY (file, n)
);
CREATE TABLE batch_results (
	batch TEXT   NOT NULL,
	n     BIGINT NOT NULL,
	at    BIGINT NOT NULL,
	data  TEXT   NOT NULL,
	PRIMARY KEY (batch, n)
) WITHOUT ROWID;
CREATE INDEX batch_results_age ON batch_results (at);
CREATE TABLE templates (
	ws          TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	nid         BIGINT NOT NULL,
	version     BIGINT NOT NULL,
	latest      BIGINT NOT NULL,
	revision    BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	summary     TEXT   NOT NULL,
	PRIMARY KEY (ws, template_id)
);
CREATE UNIQUE INDEX templates_list ON templates (ws, nid);
CREATE TABLE template_versions (
	ws          TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	version     BIGINT NOT NULL,
	status      TEXT   NOT NULL,
	revision    BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	body        TEXT   NOT NULL,
	PRIMARY KEY (ws, template_id, version)
);
CREATE TABLE template_reviews (
	ws          TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	at          BIGINT NOT NULL,
	nid         BIGINT NOT NULL,
	body        TEXT   NOT NULL,
	PRIMARY KEY (ws, template_id, at, nid)
);
CREATE TABLE surveys (
	nid         INTEGER PRIMARY KEY,
	ws          TEXT   NOT NULL,
	survey_id   TEXT   NOT NULL,
	project     TEXT   NOT NULL,
	stage       TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	status      TEXT   NOT NULL,
	revision    BIGINT NOT NULL,
	touched     BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	rev_action  TEXT   NOT NULL,
	rev_actor   TEXT   NOT NULL,
	rev_request TEXT   NOT NULL,
	rev_reason  TEXT   NOT NULL,
	body        TEXT   NOT NULL
, id_key TEXT GENERATED ALWAYS AS (lower(survey_id)) VIRTUAL, name_key TEXT GENERATED ALWAYS AS (lower(json_extract(body, '$.name'))) VIRTUAL);
CREATE UNIQUE INDEX surveys_id ON surveys (ws, survey_id);
CREATE UNIQUE INDEX surveys_list ON surveys (ws, nid);
CREATE INDEX surveys_project ON surveys (ws, project, nid);
CREATE INDEX surveys_active ON surveys (ws, template_id, nid) WHERE status = 'active';
CREATE TABLE survey_history (
	survey   BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	action   TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	request  TEXT   NOT NULL,
	reason   TEXT   NOT NULL,
	body     TEXT   NOT NULL,
	PRIMARY KEY (survey, revision)
);
CREATE TABLE survey_households (
	survey        BIGINT NOT NULL,
	household     TEXT   NOT NULL,
	stratum       TEXT   NOT NULL,
	grp           BIGINT NOT NULL,
	area          TEXT   NOT NULL,
	collector     TEXT   NOT NULL,
	outcome       BIGINT NOT NULL,
	outcome_round BIGINT NOT NULL,
	outcome_at    BIGINT NOT NULL,
	lat           REAL,
	lon           REAL,
	attributes    TEXT   NOT NULL,
	rev           BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL, cluster TEXT NOT NULL DEFAULT '', source BIGINT NOT NULL DEFAULT 0, replaces TEXT NOT NULL DEFAULT '', since BIGINT NOT NULL DEFAULT 0, replacement TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (survey, household)
) WITHOUT ROWID;
CREATE INDEX survey_households_of ON survey_households (household, survey);
CREATE INDEX survey_households_collector ON survey_households (survey, collector, household) WHERE collector <> '';
CREATE TABLE survey_counts (
	survey      BIGINT NOT NULL,
	round       BIGINT NOT NULL,
	stratum     TEXT   NOT NULL,
	grp         BIGINT NOT NULL,
	shard       BIGINT NOT NULL,
	listed      BIGINT NOT NULL,
	contacted   BIGINT NOT NULL,
	refused     BIGINT NOT NULL,
	unreachable BIGINT NOT NULL,
	completed   BIGINT NOT NULL,
	partial     BIGINT NOT NULL,
	verified    BIGINT NOT NULL,
	rejected    BIGINT NOT NULL,
	flagged     BIGINT NOT NULL, ineligible BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (survey, round, stratum, grp, shard)
) WITHOUT ROWID;
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
, imported_by TEXT NOT NULL DEFAULT '', stated BIGINT NOT NULL DEFAULT 0, id_key TEXT GENERATED ALWAYS AS (lower(response_id)) VIRTUAL, typed BIGINT NOT NULL DEFAULT 0, unfit BIGINT NOT NULL DEFAULT 0, mode TEXT GENERATED ALWAYS AS (coalesce(json_extract(body, '$.mode'), '')) VIRTUAL);
CREATE UNIQUE INDEX responses_id ON responses (ws, response_id);
CREATE UNIQUE INDEX responses_household ON responses (ws, household, survey, round, slot);
CREATE INDEX responses_list ON responses (survey, nid);
CREATE INDEX responses_status ON responses (survey, vstatus, nid);
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
	sealed   BLOB, imported_by TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (response, revision)
);
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
, judged BIGINT NOT NULL DEFAULT 0);
CREATE INDEX response_decisions_of ON response_decisions (response, nid);
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
CREATE TABLE quality_rules (
	survey     INTEGER PRIMARY KEY,
	revision   BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	actor      TEXT   NOT NULL,
	data       TEXT   NOT NULL
);
CREATE TABLE quality_rounds (
	survey      BIGINT NOT NULL,
	round       BIGINT NOT NULL,
	run         BIGINT NOT NULL,
	job         TEXT   NOT NULL,
	newest      BIGINT NOT NULL,
	looked      BIGINT NOT NULL,
	started_at  BIGINT NOT NULL,
	finished_at BIGINT NOT NULL,
	data        TEXT   NOT NULL,
	PRIMARY KEY (survey, round)
) WITHOUT ROWID;
CREATE TABLE back_check_draws (
	nid    INTEGER PRIMARY KEY,
	survey BIGINT NOT NULL,
	round  BIGINT NOT NULL,
	seed   TEXT   NOT NULL,
	actor  TEXT   NOT NULL,
	at     BIGINT NOT NULL,
	cutoff BIGINT NOT NULL,
	ready  BIGINT NOT NULL,
	data   TEXT   NOT NULL
);
CREATE UNIQUE INDEX back_check_draws_seed ON back_check_draws (survey, round, seed);
CREATE TABLE back_checks (
	nid         INTEGER PRIMARY KEY,
	survey      BIGINT NOT NULL,
	round       BIGINT NOT NULL,
	draw        BIGINT NOT NULL,
	response    BIGINT NOT NULL,
	response_id TEXT   NOT NULL,
	collector   TEXT   NOT NULL,
	state       TEXT   NOT NULL,
	drawn_at    BIGINT NOT NULL,
	done_at     BIGINT NOT NULL,
	checker     TEXT   NOT NULL,
	data        TEXT   NOT NULL
);
CREATE UNIQUE INDEX back_checks_drawn ON back_checks (draw, response);
CREATE INDEX back_checks_list ON back_checks (survey, nid);
CREATE INDEX back_checks_state ON back_checks (survey, state, nid);
CREATE TABLE back_check_counts (
	survey    BIGINT NOT NULL,
	round     BIGINT NOT NULL,
	collector TEXT   NOT NULL,
	class     BIGINT NOT NULL,
	drawn     BIGINT NOT NULL,
	done      BIGINT NOT NULL,
	compared  BIGINT NOT NULL,
	errors    BIGINT NOT NULL,
	PRIMARY KEY (survey, round, collector, class)
) WITHOUT ROWID;
CREATE TABLE ussd_sessions (
	id         TEXT   NOT NULL PRIMARY KEY,
	step       BIGINT NOT NULL,
	expires_at BIGINT NOT NULL,
	state      BLOB   NOT NULL
) WITHOUT ROWID;
CREATE TABLE ussd_drafts (
	phone      TEXT   NOT NULL PRIMARY KEY,
	expires_at BIGINT NOT NULL,
	state      BLOB   NOT NULL
) WITHOUT ROWID;
CREATE INDEX ussd_drafts_age ON ussd_drafts (expires_at);
CREATE TABLE ussd_calls (
	session_id  TEXT   NOT NULL,
	phone       TEXT   NOT NULL,
	gateway     TEXT   NOT NULL,
	status      TEXT   NOT NULL,
	cost        TEXT   NOT NULL,
	network     TEXT   NOT NULL,
	error       TEXT   NOT NULL,
	duration_ms BIGINT NOT NULL,
	hops        BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	PRIMARY KEY (session_id, phone, gateway)
) WITHOUT ROWID;
CREATE INDEX ussd_calls_age ON ussd_calls (at);
CREATE INDEX ussd_calls_phone ON ussd_calls (phone);
CREATE TABLE ussd_accounts (
	id            TEXT   PRIMARY KEY,
	ws            TEXT   NOT NULL,
	customer_id   TEXT   NOT NULL,
	name          TEXT   NOT NULL,
	email         TEXT   NOT NULL,
	phone         TEXT   NOT NULL,
	lang          TEXT   NOT NULL,
	did           TEXT   NOT NULL,
	household_did TEXT   NOT NULL,
	district      TEXT   NOT NULL,
	size          BIGINT NOT NULL,
	pin           BLOB,
	pin_key       TEXT   NOT NULL,
	pin_legacy    TEXT   NOT NULL,
	pin_until     BIGINT NOT NULL,
	status        TEXT   NOT NULL,
	twins         TEXT   NOT NULL,
	twins_asked   BIGINT NOT NULL,
	revision      BIGINT NOT NULL,
	created_at    BIGINT NOT NULL,
	updated_at    BIGINT NOT NULL
);
CREATE UNIQUE INDEX ussd_accounts_customer ON ussd_accounts (customer_id);
CREATE UNIQUE INDEX ussd_accounts_did ON ussd_accounts (did);
CREATE INDEX ussd_accounts_household ON ussd_accounts (household_did);
CREATE INDEX ussd_accounts_phone ON ussd_accounts (phone, id);
CREATE INDEX ussd_accounts_key ON ussd_accounts (pin_key, id);
CREATE INDEX ussd_accounts_status ON ussd_accounts (status, id);
CREATE INDEX ussd_accounts_twins ON ussd_accounts (twins, id);
CREATE TABLE ussd_locks (
	kind         TEXT   NOT NULL,
	name         TEXT   NOT NULL,
	wrong        BIGINT NOT NULL,
	closed_until BIGINT NOT NULL,
	last_at      BIGINT NOT NULL,
	PRIMARY KEY (kind, name)
) WITHOUT ROWID;
CREATE INDEX ussd_locks_age ON ussd_locks (kind, last_at);
CREATE TABLE ussd_resets (
	account    TEXT   PRIMARY KEY,
	code       BLOB   NOT NULL,
	expires_at BIGINT NOT NULL,
	tries      BIGINT NOT NULL,
	sent       BIGINT NOT NULL,
	day_at     BIGINT NOT NULL
);
CREATE TABLE sms_messages (
	id          TEXT   PRIMARY KEY,
	about       TEXT   NOT NULL,
	number      TEXT   NOT NULL,
	recipient   BLOB,
	body        BLOB,
	status      TEXT   NOT NULL,
	attempts    BIGINT NOT NULL,
	provider_id TEXT   NOT NULL,
	error       TEXT   NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL
);
CREATE INDEX sms_messages_about ON sms_messages (about);
CREATE INDEX sms_messages_number ON sms_messages (number, created_at);
CREATE INDEX sms_messages_age ON sms_messages (created_at);
CREATE INDEX response_conflicts_household ON response_conflicts (ws, household);
CREATE INDEX surveys_template ON surveys (ws, template_id, nid);
CREATE TABLE chat_users (
	user_did TEXT   PRIMARY KEY,
	sessions BIGINT NOT NULL
, workspace TEXT NOT NULL DEFAULT 'default', did TEXT NOT NULL DEFAULT '');
CREATE TABLE chat_sessions (
	nid        BIGINT PRIMARY KEY,
	user_did   TEXT   NOT NULL,
	id         TEXT   NOT NULL,
	title      TEXT   NOT NULL,
	turns      BIGINT NOT NULL,
	run        TEXT   NOT NULL,
	before     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
, noted BIGINT NOT NULL DEFAULT 0);
CREATE UNIQUE INDEX chat_sessions_id ON chat_sessions (user_did, id);
CREATE INDEX chat_sessions_newest ON chat_sessions (user_did, updated_at, nid);
CREATE TABLE chat_messages (
	session BIGINT NOT NULL,
	turn    BIGINT NOT NULL,
	n       BIGINT NOT NULL,
	body    TEXT   NOT NULL,
	hidden  TEXT,
	PRIMARY KEY (session, turn, n)
);
CREATE TABLE chat_declared (
	session BIGINT PRIMARY KEY,
	body    TEXT   NOT NULL
);
CREATE TABLE chat_trash (
	session BIGINT PRIMARY KEY,
	at      BIGINT NOT NULL
);
CREATE TABLE chat_delegations (
	user_did   TEXT   PRIMARY KEY,
	sealed     BLOB   NOT NULL,
	expires_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL
);
CREATE INDEX chat_delegations_expiry ON chat_delegations (expires_at);
CREATE TABLE oracle_runs (
	nid        BIGINT PRIMARY KEY,
	id         TEXT   NOT NULL,
	user_did   TEXT   NOT NULL,
	session    BIGINT NOT NULL,
	turn       BIGINT NOT NULL,
	request_id TEXT   NOT NULL,
	owner      TEXT   NOT NULL,
	status     TEXT   NOT NULL,
	abort      TEXT   NOT NULL,
	idem       TEXT,
	hash       BLOB,
	usage      TEXT,
	last_seq   BIGINT NOT NULL,
	end_seq    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	ended_at   BIGINT,
	swept      BIGINT NOT NULL
, erased BIGINT NOT NULL DEFAULT 0, workspace TEXT NOT NULL DEFAULT 'default');
CREATE UNIQUE INDEX oracle_runs_id ON oracle_runs (id);
CREATE UNIQUE INDEX oracle_runs_key ON oracle_runs (session, idem) WHERE idem IS NOT NULL;
CREATE INDEX oracle_runs_session ON oracle_runs (session, nid);
CREATE INDEX oracle_runs_owner ON oracle_runs (owner, nid) WHERE owner <> '';
CREATE INDEX oracle_runs_ended ON oracle_runs (swept, ended_at) WHERE ended_at IS NOT NULL;
CREATE TABLE oracle_frames (
	run  BIGINT NOT NULL,
	seq  BIGINT NOT NULL,
	upto BIGINT NOT NULL,
	data TEXT   NOT NULL,
	PRIMARY KEY (run, seq)
);
CREATE TABLE oracle_instances (
	id      TEXT   PRIMARY KEY,
	beat_at BIGINT NOT NULL
);
CREATE INDEX oracle_instances_age ON oracle_instances (beat_at);
CREATE TABLE oracle_used_tokens (
	hash  BLOB NOT NULL PRIMARY KEY,
	until BIGINT NOT NULL,
	bound BLOB NOT NULL
);
CREATE INDEX oracle_used_tokens_until ON oracle_used_tokens (until);
CREATE TABLE survey_erased (
	ws        TEXT NOT NULL,
	household TEXT NOT NULL,
	PRIMARY KEY (ws, household)
) WITHOUT ROWID;
CREATE INDEX jobs_due ON jobs (ws, kind, due_at) WHERE due_at IS NOT NULL;
CREATE INDEX jobs_running ON jobs (due_at, ws, kind) WHERE status = 'running' AND due_at IS NOT NULL;
CREATE TABLE entity_keys (
	ws       TEXT   NOT NULL,
	did      TEXT   NOT NULL,
	key      TEXT   NOT NULL,
	scopes   TEXT   NOT NULL,
	added_by TEXT   NOT NULL,
	added_at BIGINT NOT NULL, refused BIGINT NOT NULL DEFAULT 0, proven BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (ws, did, key)
) WITHOUT ROWID;
CREATE TABLE oracle_about (
	did     TEXT   NOT NULL,
	session BIGINT NOT NULL,
	turn    BIGINT NOT NULL,
	PRIMARY KEY (did, session)
) WITHOUT ROWID;
CREATE INDEX oracle_about_session ON oracle_about (session);
CREATE INDEX erasures_pending ON erasures (nid) WHERE done_at = 0;
CREATE INDEX chat_sessions_unnoted ON chat_sessions (nid) WHERE noted = 0;
CREATE INDEX entity_keys_key ON entity_keys (ws, key);
CREATE INDEX principals_did ON principals (did);
CREATE INDEX api_keys_maker ON api_keys (workspace, created_by);
CREATE INDEX entity_history_actor ON entity_history (nid, actor)
	WHERE (stated = revision OR action NOT IN ('verify', 'transfer', 'relate', 'unrelate', 'certify', 'migrate', 'erase'));
CREATE INDEX relationships_left ON relationships (ws, dst_did, nid) WHERE removed_at IS NOT NULL AND role = 'household';
CREATE TABLE device_reading_changes (
	device      BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	nid         BIGINT NOT NULL,
	temperature REAL,
	data        TEXT   NOT NULL,
	had         BIGINT NOT NULL,
	gone        BIGINT NOT NULL,
	actor       TEXT   NOT NULL,
	reason      TEXT   NOT NULL,
	changed_at  BIGINT NOT NULL,
	PRIMARY KEY (device, at, nid)
) WITHOUT ROWID;
CREATE TABLE device_days (
	device         BIGINT NOT NULL,
	day            BIGINT NOT NULL,
	part           BIGINT NOT NULL,
	ws             TEXT   NOT NULL,
	project_key    BIGINT,
	household      TEXT   NOT NULL,
	stove          TEXT   NOT NULL,
	readings       BIGINT NOT NULL,
	expected       BIGINT NOT NULL,
	events         BIGINT NOT NULL,
	cooking        BIGINT NOT NULL,
	contradictions BIGINT NOT NULL,
	spill          BIGINT NOT NULL,
	PRIMARY KEY (device, day, part)
) WITHOUT ROWID;
CREATE INDEX device_days_project ON device_days (project_key, day, device, part) WHERE project_key IS NOT NULL;
CREATE INDEX device_status_dirty ON device_status (device) WHERE dirty_from IS NOT NULL;
CREATE INDEX device_status_untold ON device_status (device) WHERE pend_count > 0;
CREATE TABLE template_files (
	ws         TEXT   NOT NULL,
	sha256     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	data       BLOB   NOT NULL,
	PRIMARY KEY (ws, sha256)
);
CREATE TABLE template_file_uses (
	ws          TEXT   NOT NULL,
	template_id TEXT   NOT NULL,
	version     BIGINT NOT NULL,
	sha256      TEXT   NOT NULL,
	PRIMARY KEY (ws, template_id, version, sha256)
);
CREATE INDEX template_file_uses_of ON template_file_uses (ws, sha256);
CREATE TABLE survey_lengths (
	survey    BIGINT NOT NULL,
	collector TEXT   NOT NULL,
	bucket    BIGINT NOT NULL,
	shard     BIGINT NOT NULL,
	n         BIGINT NOT NULL,
	PRIMARY KEY (survey, collector, bucket, shard)
) WITHOUT ROWID;
CREATE INDEX entities_name ON entities (ws, name_key, nid) WHERE name <> '';
CREATE INDEX entity_externals_key ON entity_externals (ws, value_key, scheme);
CREATE INDEX surveys_id_key ON surveys (ws, id_key);
CREATE INDEX surveys_name ON surveys (ws, name_key);
CREATE INDEX responses_id_key ON responses (ws, id_key);
CREATE INDEX principals_name ON principals (workspace, name_key);
CREATE TABLE counts (
	ws    TEXT   NOT NULL,
	kind  TEXT   NOT NULL,
	part  TEXT   NOT NULL,
	state TEXT   NOT NULL,
	shard BIGINT NOT NULL,
	n     BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, part, state, shard)
) WITHOUT ROWID;
CREATE TABLE survey_days (
	survey BIGINT NOT NULL,
	round  BIGINT NOT NULL,
	day    BIGINT NOT NULL,
	status TEXT   NOT NULL,
	shard  BIGINT NOT NULL,
	n      BIGINT NOT NULL,
	PRIMARY KEY (survey, round, day, status, shard)
) WITHOUT ROWID;
CREATE TRIGGER entities_count_out AFTER DELETE ON entities BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'entity', OLD.type, OLD.status, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'entity' AND part = OLD.type AND state = OLD.status AND shard = 0;
END;
CREATE TRIGGER entities_count_move AFTER UPDATE OF type, status ON entities WHEN OLD.type <> NEW.type OR OLD.status <> NEW.status BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'entity', OLD.type, OLD.status, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'entity' AND part = OLD.type AND state = OLD.status AND shard = 0;
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'entity', NEW.type, NEW.status, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'entity' AND part = NEW.type AND state = NEW.status AND shard = 0;
END;
CREATE TRIGGER responses_count_out AFTER DELETE ON responses BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'response', OLD.status, OLD.vstatus, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'response' AND part = OLD.status AND state = OLD.vstatus AND shard = 0;
END;
CREATE TRIGGER responses_count_move AFTER UPDATE OF status, vstatus ON responses WHEN OLD.status <> NEW.status OR OLD.vstatus <> NEW.vstatus BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'response', OLD.status, OLD.vstatus, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'response' AND part = OLD.status AND state = OLD.vstatus AND shard = 0;
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'response', NEW.status, NEW.vstatus, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'response' AND part = NEW.status AND state = NEW.vstatus AND shard = 0;
END;
CREATE TRIGGER jobs_count_in AFTER INSERT ON jobs BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'job', NEW.kind, NEW.status, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'job' AND part = NEW.kind AND state = NEW.status AND shard = 0;
END;
CREATE TRIGGER jobs_count_out AFTER DELETE ON jobs BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'job', OLD.kind, OLD.status, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'job' AND part = OLD.kind AND state = OLD.status AND shard = 0;
END;
CREATE TRIGGER jobs_count_move AFTER UPDATE OF kind, status ON jobs WHEN OLD.kind <> NEW.kind OR OLD.status <> NEW.status BEGIN
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (OLD.ws, 'job', OLD.kind, OLD.status, 0, 0);
	UPDATE counts SET n = n - 1 WHERE ws = OLD.ws AND kind = 'job' AND part = OLD.kind AND state = OLD.status AND shard = 0;
	INSERT OR IGNORE INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'job', NEW.kind, NEW.status, 0, 0);
	UPDATE counts SET n = n + 1 WHERE ws = NEW.ws AND kind = 'job' AND part = NEW.kind AND state = NEW.status AND shard = 0;
END;
CREATE TRIGGER responses_day_out AFTER DELETE ON responses BEGIN
	INSERT OR IGNORE INTO survey_days (survey, round, day, status, shard, n)
		SELECT OLD.survey, OLD.round, OLD.submitted_at / 86400000, OLD.status, 0, 0 WHERE OLD.vstatus NOT IN ('superseded', 'invalidated');
	UPDATE survey_days SET n = n - 1 WHERE survey = OLD.survey AND round = OLD.round AND day = OLD.submitted_at / 86400000 AND status = OLD.status AND shard = 0
		AND OLD.vstatus NOT IN ('superseded', 'invalidated');
END;
CREATE TRIGGER responses_day_move AFTER UPDATE OF round, submitted_at, status, vstatus ON responses WHEN OLD.round <> NEW.round OR OLD.submitted_at <> NEW.submitted_at OR OLD.status <> NEW.status OR OLD.vstatus <> NEW.vstatus BEGIN
	INSERT OR IGNORE INTO survey_days (survey, round, day, status, shard, n)
		SELECT OLD.survey, OLD.round, OLD.submitted_at / 86400000, OLD.status, 0, 0 WHERE OLD.vstatus NOT IN ('superseded', 'invalidated');
	UPDATE survey_days SET n = n - 1 WHERE survey = OLD.survey AND round = OLD.round AND day = OLD.submitted_at / 86400000 AND status = OLD.status AND shard = 0
		AND OLD.vstatus NOT IN ('superseded', 'invalidated');
	INSERT OR IGNORE INTO survey_days (survey, round, day, status, shard, n)
		SELECT NEW.survey, NEW.round, NEW.submitted_at / 86400000, NEW.status, 0, 0 WHERE NEW.vstatus NOT IN ('superseded', 'invalidated');
	UPDATE survey_days SET n = n + 1 WHERE survey = NEW.survey AND round = NEW.round AND day = NEW.submitted_at / 86400000 AND status = NEW.status AND shard = 0
		AND NEW.vstatus NOT IN ('superseded', 'invalidated');
END;
CREATE TABLE console_sessions (
	hash       BLOB   NOT NULL PRIMARY KEY,
	id         TEXT   NOT NULL,
	ws         TEXT   NOT NULL,
	key_id     TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	seen_at    BIGINT NOT NULL,
	addr       TEXT   NOT NULL,
	agent      TEXT   NOT NULL
);
CREATE UNIQUE INDEX console_sessions_id ON console_sessions (ws, id);
CREATE INDEX console_sessions_key ON console_sessions (ws, key_id, id);
CREATE INDEX console_sessions_seen ON console_sessions (seen_at);
CREATE TABLE console_codes (
	hash       BLOB   NOT NULL PRIMARY KEY,
	ws         TEXT   NOT NULL,
	key_id     TEXT   NOT NULL,
	ends_at    BIGINT NOT NULL
);
CREATE INDEX console_codes_key ON console_codes (ws, key_id);
CREATE INDEX console_codes_end ON console_codes (ends_at);
CREATE INDEX responses_waiting ON responses (ws, vstatus, nid);
CREATE TABLE response_claims (
	response BIGINT NOT NULL PRIMARY KEY,
	ws       TEXT   NOT NULL,
	verifier TEXT   NOT NULL,
	until    BIGINT NOT NULL
) WITHOUT ROWID;
CREATE INDEX response_claims_old ON response_claims (ws, until);
CREATE TABLE demos (
	ws          TEXT   NOT NULL PRIMARY KEY,
	id          TEXT   NOT NULL,
	seed        BIGINT NOT NULL,
	state       TEXT   NOT NULL,
	job         TEXT   NOT NULL,
	actor       TEXT   NOT NULL,
	began       BIGINT NOT NULL,
	started_at  BIGINT NOT NULL,
	finished_at BIGINT NOT NULL,
	took_ms     BIGINT NOT NULL,
	counts      TEXT   NOT NULL,
	project     TEXT   NOT NULL
) WITHOUT ROWID;
CREATE INDEX chat_users_principal ON chat_users (workspace, did);
CREATE INDEX transfers_list ON transfers (ws, kind, about, job);
CREATE TABLE transfer_cells (
	job  TEXT   NOT NULL,
	line BIGINT NOT NULL,
	last BIGINT NOT NULL,
	ws   TEXT   NOT NULL,
	at   BIGINT NOT NULL,
	data TEXT   NOT NULL,
	PRIMARY KEY (job, line)
) WITHOUT ROWID;
CREATE INDEX transfer_cells_ws ON transfer_cells (ws);
CREATE INDEX transfer_cells_age ON transfer_cells (at);
CREATE TABLE invites (
	id         TEXT   NOT NULL PRIMARY KEY,
	ws         TEXT   NOT NULL,
	hash       BLOB   NOT NULL,
	draft      TEXT   NOT NULL,
	key_id     TEXT   NOT NULL,
	created_by TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	ends_at    BIGINT NOT NULL,
	used_at    BIGINT,
	revoked_at BIGINT,
	principal  TEXT   NOT NULL DEFAULT '',
	made       TEXT   NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX invites_hash ON invites (hash);
CREATE INDEX invites_list ON invites (ws, id);
CREATE INDEX invites_principal ON invites (ws, principal) WHERE principal <> '';
CREATE INDEX invites_end ON invites (ends_at);
CREATE INDEX invites_open ON invites (ws, ends_at) WHERE used_at IS NULL AND revoked_at IS NULL;
CREATE INDEX oracle_runs_workspace ON oracle_runs (workspace, nid);
CREATE INDEX oracle_runs_user ON oracle_runs (user_did, nid);
CREATE TABLE response_drafts (
	nid         BIGINT NOT NULL PRIMARY KEY,
	ws          TEXT   NOT NULL,
	survey      BIGINT NOT NULL,
	owner       TEXT   NOT NULL,
	response_id TEXT   NOT NULL,
	household   TEXT   NOT NULL,
	revision    BIGINT NOT NULL,
	saved_at    BIGINT NOT NULL,
	sealed      BLOB   NOT NULL
) WITHOUT ROWID;
CREATE UNIQUE INDEX response_drafts_one ON response_drafts (survey, owner, response_id);
CREATE INDEX response_drafts_own ON response_drafts (ws, owner, nid);
CREATE INDEX response_drafts_household ON response_drafts (ws, household);
CREATE INDEX response_drafts_old ON response_drafts (saved_at);
CREATE INDEX response_claims_own ON response_claims (ws, verifier, until);
CREATE TABLE ussd_walks (
	id         TEXT   NOT NULL PRIMARY KEY,
	session_id TEXT   NOT NULL,
	phone      TEXT   NOT NULL,
	gateway    TEXT   NOT NULL,
	code       TEXT   NOT NULL,
	pack       TEXT   NOT NULL,
	lang       TEXT   NOT NULL,
	node       TEXT   NOT NULL,
	ending     TEXT   NOT NULL,
	started_at BIGINT NOT NULL,
	ended_at   BIGINT NOT NULL,
	steps      BLOB NOT NULL
) WITHOUT ROWID;
CREATE INDEX ussd_walks_age ON ussd_walks (ended_at, id);
CREATE INDEX ussd_walks_phone ON ussd_walks (phone, ended_at, id);
CREATE TABLE ussd_visits (
	day     TEXT   NOT NULL,
	pack    TEXT   NOT NULL,
	node    TEXT   NOT NULL,
	sample  BIGINT NOT NULL,
	visits  BIGINT NOT NULL,
	refused BIGINT NOT NULL,
	dropped BIGINT NOT NULL,
	PRIMARY KEY (day, pack, node, sample)
) WITHOUT ROWID;
CREATE INDEX invites_key ON invites (ws, key_id, id);
CREATE INDEX invites_maker ON invites (ws, created_by, ends_at) WHERE used_at IS NULL AND revoked_at IS NULL;
CREATE INDEX relationships_began_out ON relationships (src, added_at, nid);
CREATE INDEX relationships_began_in ON relationships (dst, added_at, nid);
CREATE INDEX relationships_past_out ON relationships (src, removed_at, nid) WHERE removed_at IS NOT NULL;
CREATE INDEX relationships_past_in ON relationships (dst, removed_at, nid) WHERE removed_at IS NOT NULL;
CREATE INDEX responses_timeline ON responses (ws, household, submitted_at, nid);
CREATE INDEX device_days_household ON device_days (ws, household, day, device, part) WHERE household <> '';
CREATE INDEX device_days_stove ON device_days (ws, stove, day, device, part) WHERE stove <> '';
CREATE TABLE mcp_servers (
  ws TEXT NOT NULL,
  name TEXT NOT NULL,
  url TEXT NOT NULL,
  description TEXT NOT NULL,
  headers BLOB,
  timeout_ms INTEGER NOT NULL,
  revision INTEGER NOT NULL,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  PRIMARY KEY (ws, name)
);
CREATE TABLE mcp_grants (
  ws TEXT NOT NULL,
  server TEXT NOT NULL,
  tool TEXT NOT NULL,
  hash TEXT NOT NULL,
  granted_by TEXT NOT NULL,
  granted_at INTEGER NOT NULL,
  PRIMARY KEY (ws, server, tool)
);
CREATE TABLE oracle_confirmations (
	run        TEXT   NOT NULL,
	call       TEXT   NOT NULL,
	user_did   TEXT   NOT NULL,
	session    BIGINT NOT NULL,
	tool       TEXT   NOT NULL,
	about      TEXT   NOT NULL,
	args       TEXT   NOT NULL,
	hash       TEXT   NOT NULL,
	state      TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL, seal TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (run, call)
);
CREATE INDEX oracle_confirmations_session ON oracle_confirmations (session, hash);
CREATE INDEX oracle_confirmations_old ON oracle_confirmations (expires_at);
CREATE TABLE oracle_grants (
	user_did   TEXT   NOT NULL,
	tool       TEXT   NOT NULL,
	session    BIGINT NOT NULL,
	created_at BIGINT NOT NULL,
	expires_at BIGINT NOT NULL, hash TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (user_did, tool, session)
);
CREATE INDEX oracle_grants_session ON oracle_grants (session);
CREATE TABLE flag_settlements (
	response BIGINT NOT NULL,
	rule     TEXT   NOT NULL,
	question TEXT   NOT NULL,
	data     TEXT   NOT NULL,
	outcome  TEXT   NOT NULL,
	note     TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	at       BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	PRIMARY KEY (response, rule, question)
) WITHOUT ROWID;
CREATE TABLE plugin_state (
  plugin TEXT NOT NULL,
  user_did TEXT NOT NULL,
  session BIGINT NOT NULL,
  name TEXT NOT NULL,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  value TEXT NOT NULL,
  updated_at BIGINT NOT NULL, expires_at BIGINT NOT NULL DEFAULT 0,
  PRIMARY KEY (plugin, user_did, session, name)
);
CREATE INDEX plugin_state_session ON plugin_state (session) WHERE session <> 0;
CREATE INDEX plugin_state_person ON plugin_state (workspace, did) WHERE session = 0;
CREATE TABLE ussd_asks (
  id TEXT PRIMARY KEY,
  phone TEXT NOT NULL,
  account TEXT NOT NULL,
  user_did TEXT NOT NULL,
  run TEXT NOT NULL,
  lang TEXT NOT NULL,
  asked_at BIGINT NOT NULL
, answer TEXT NOT NULL DEFAULT '');
CREATE INDEX ussd_asks_phone ON ussd_asks (phone, asked_at);
CREATE INDEX ussd_asks_user ON ussd_asks (user_did);
CREATE INDEX ussd_asks_at ON ussd_asks (asked_at);
CREATE TABLE oracle_tasks (
  nid BIGINT PRIMARY KEY,
  id TEXT NOT NULL,
  user_did TEXT NOT NULL,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  owner TEXT NOT NULL,
  title TEXT NOT NULL,
  prompt TEXT NOT NULL,
  cron TEXT NOT NULL,
  zone TEXT NOT NULL,
  status TEXT NOT NULL,
  reason TEXT NOT NULL,
  planned_at BIGINT,
  due_at BIGINT,
  once_at BIGINT,
  waits_since BIGINT,
  last_at BIGINT,
  last_run TEXT NOT NULL,
  last_error TEXT NOT NULL,
  session TEXT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL
, signed INTEGER NOT NULL DEFAULT 1);
CREATE UNIQUE INDEX oracle_tasks_id ON oracle_tasks (user_did, id);
CREATE INDEX oracle_tasks_newest ON oracle_tasks (user_did, nid);
CREATE INDEX oracle_tasks_due ON oracle_tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX oracle_tasks_person ON oracle_tasks (workspace, did);
CREATE INDEX plugin_state_expiry ON plugin_state (expires_at) WHERE expires_at <> 0;
CREATE TABLE plugin_links (
  plugin TEXT NOT NULL,
  name TEXT NOT NULL,
  user_did TEXT NOT NULL,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  caller TEXT NOT NULL,
  expires_at BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (plugin, name)
);
CREATE INDEX plugin_links_user ON plugin_links (plugin, user_did, name);
CREATE INDEX plugin_links_person ON plugin_links (workspace, did);
CREATE TABLE credit_accounts (
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  status TEXT NOT NULL,
  balance BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  updated_at BIGINT NOT NULL, holds TEXT NOT NULL DEFAULT '',
  PRIMARY KEY (workspace, did)
);
CREATE TABLE credit_holds (
  run TEXT PRIMARY KEY,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  amount BIGINT NOT NULL,
  expires_at BIGINT NOT NULL
);
CREATE INDEX credit_holds_account ON credit_holds (workspace, did, expires_at);
CREATE TABLE credit_entries (
  nid BIGINT PRIMARY KEY,
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  kind TEXT NOT NULL,
  amount BIGINT NOT NULL,
  balance BIGINT NOT NULL,
  ref TEXT NOT NULL,
  note TEXT NOT NULL,
  by_did TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX credit_entries_ref ON credit_entries (workspace, did, ref);
CREATE INDEX credit_entries_newest ON credit_entries (workspace, did, nid);
CREATE TABLE answers (
	qid  BIGINT NOT NULL,
	code TEXT   NOT NULL,
	num  REAL NOT NULL,
	nid  BIGINT NOT NULL,
	item BIGINT NOT NULL,
	PRIMARY KEY (qid, code, num, nid, item)
) WITHOUT ROWID;
CREATE INDEX responses_rowless ON responses (survey, nid) WHERE typed <> 1;
CREATE INDEX responses_untyped ON responses (nid) WHERE typed = 0;
CREATE INDEX oracle_tasks_turns ON oracle_tasks (signed, due_at) WHERE due_at IS NOT NULL;
CREATE TABLE sampling_designs (
	nid        BIGINT PRIMARY KEY,
	ws         TEXT   NOT NULL,
	design_id  TEXT   NOT NULL,
	project    TEXT   NOT NULL,
	version    BIGINT NOT NULL,
	deleted_at BIGINT NOT NULL,
	body       TEXT   NOT NULL
);
CREATE UNIQUE INDEX sampling_designs_id ON sampling_designs (ws, design_id);
CREATE INDEX sampling_designs_newest ON sampling_designs (ws, nid);
CREATE INDEX sampling_designs_project ON sampling_designs (ws, project, nid);
CREATE TABLE sampling_versions (
	design  BIGINT NOT NULL,
	version BIGINT NOT NULL,
	body    TEXT   NOT NULL,
	PRIMARY KEY (design, version)
);
CREATE TABLE sampling_frames (
	nid    BIGINT PRIMARY KEY,
	design BIGINT NOT NULL,
	state  TEXT   NOT NULL,
	hash   TEXT   NOT NULL,
	body   TEXT   NOT NULL
);
CREATE INDEX sampling_frames_design ON sampling_frames (design, nid);
CREATE TABLE sampling_pieces (
	frame BIGINT NOT NULL,
	piece BIGINT NOT NULL,
	units TEXT   NOT NULL,
	homes TEXT   NOT NULL,
	PRIMARY KEY (frame, piece)
);
CREATE TABLE sampling_projects (
	ws      TEXT   NOT NULL,
	project TEXT   NOT NULL,
	draws   BIGINT NOT NULL,
	PRIMARY KEY (ws, project)
);
CREATE TABLE sampling_draws (
	nid        BIGINT PRIMARY KEY,
	ws         TEXT   NOT NULL,
	project    TEXT   NOT NULL,
	design     BIGINT NOT NULL,
	frame      BIGINT NOT NULL,
	frame_hash TEXT   NOT NULL,
	survey     TEXT   NOT NULL,
	state      TEXT   NOT NULL,
	sealed     BLOB   NOT NULL,
	body       TEXT   NOT NULL
, of_frame BIGINT NOT NULL DEFAULT 0, of_project BIGINT NOT NULL DEFAULT 0);
CREATE INDEX sampling_draws_project ON sampling_draws (ws, project, nid);
CREATE INDEX sampling_draws_survey ON sampling_draws (ws, survey, nid);
CREATE INDEX sampling_draws_design ON sampling_draws (design, nid);
CREATE TABLE sampling_drawn (
	draw      BIGINT NOT NULL,
	place     BIGINT NOT NULL,
	cell      TEXT   NOT NULL,
	unit      TEXT   NOT NULL,
	household TEXT   NOT NULL,
	stratum   TEXT   NOT NULL,
	cluster   TEXT   NOT NULL,
	hash      TEXT   NOT NULL,
	state     TEXT   NOT NULL,
	replaces  TEXT   NOT NULL,
	reason    TEXT   NOT NULL,
	actor     TEXT   NOT NULL,
	at        BIGINT NOT NULL, replaced_by TEXT NOT NULL DEFAULT '',
	PRIMARY KEY (draw, place)
);
CREATE INDEX sampling_drawn_next ON sampling_drawn (draw, cell, state, place);
CREATE INDEX sampling_drawn_unit ON sampling_drawn (draw, unit);
CREATE INDEX sampling_drawn_household ON sampling_drawn (draw, household);
CREATE INDEX sampling_drawn_state ON sampling_drawn (draw, state, place);
CREATE TABLE survey_outcomes (
	survey    BIGINT NOT NULL,
	round     BIGINT NOT NULL,
	household TEXT   NOT NULL,
	outcome   BIGINT NOT NULL,
	at        BIGINT NOT NULL,
	PRIMARY KEY (survey, round, household)
) WITHOUT ROWID;
CREATE INDEX sampling_draws_frame ON sampling_draws (ws, project, frame_hash, nid);
CREATE TABLE kpt_tests (
	nid        BIGINT PRIMARY KEY,
	ws         TEXT   NOT NULL,
	kpt_id     TEXT   NOT NULL,
	project    TEXT   NOT NULL,
	household  TEXT   NOT NULL,
	grp        TEXT   NOT NULL,
	fuel       TEXT   NOT NULL,
	unit       TEXT   NOT NULL,
	starts     BIGINT NOT NULL,
	ends       BIGINT NOT NULL,
	days       BIGINT NOT NULL,
	total      REAL   NOT NULL,
	heads      REAL   NOT NULL,
	adults     REAL   NOT NULL,
	documented BIGINT NOT NULL,
	status     TEXT   NOT NULL,
	revision   BIGINT NOT NULL,
	actor      TEXT   NOT NULL,
	created_at BIGINT NOT NULL,
	updated_at BIGINT NOT NULL,
	reason     TEXT   NOT NULL,
	body       TEXT   NOT NULL
);
CREATE UNIQUE INDEX kpt_tests_id ON kpt_tests (ws, kpt_id);
CREATE INDEX kpt_tests_newest ON kpt_tests (ws, nid);
CREATE INDEX kpt_tests_project ON kpt_tests (ws, project, nid);
CREATE INDEX kpt_tests_household ON kpt_tests (ws, household, nid);
CREATE INDEX kpt_tests_period ON kpt_tests (ws, project, fuel, status, starts);
CREATE TABLE kpt_history (
	test     BIGINT NOT NULL,
	revision BIGINT NOT NULL,
	at       BIGINT NOT NULL,
	actor    TEXT   NOT NULL,
	reason   TEXT   NOT NULL,
	status   TEXT   NOT NULL,
	body     TEXT   NOT NULL,
	PRIMARY KEY (test, revision)
);
CREATE TABLE kpt_projects (
	ws      TEXT   NOT NULL,
	project TEXT   NOT NULL,
	changes BIGINT NOT NULL,
	PRIMARY KEY (ws, project)
);
CREATE TABLE cross_references (
	nid      BIGINT PRIMARY KEY,
	survey   BIGINT NOT NULL,
	round    BIGINT NOT NULL,
	question TEXT   NOT NULL,
	actor    TEXT   NOT NULL,
	at       BIGINT NOT NULL,
	body     TEXT   NOT NULL
);
CREATE INDEX cross_references_list ON cross_references (survey, nid);
CREATE INDEX cross_references_of ON cross_references (survey, round, question, nid);
CREATE TABLE cross_rounds (
	survey   BIGINT NOT NULL,
	round    BIGINT NOT NULL,
	question TEXT   NOT NULL,
	run      BIGINT NOT NULL,
	job      TEXT   NOT NULL,
	PRIMARY KEY (survey, round, question)
) WITHOUT ROWID;
CREATE TABLE cross_pairs (
	run      BIGINT NOT NULL,
	response BIGINT NOT NULL,
	said     REAL NOT NULL,
	measured REAL NOT NULL,
	days     BIGINT NOT NULL,
	mismatch BIGINT NOT NULL,
	PRIMARY KEY (run, response)
) WITHOUT ROWID;
CREATE INDEX cross_pairs_response ON cross_pairs (response);
CREATE TABLE survey_changes (
	survey BIGINT NOT NULL,
	shard  BIGINT NOT NULL,
	n      BIGINT NOT NULL,
	gone   BIGINT NOT NULL,
	PRIMARY KEY (survey, shard)
) WITHOUT ROWID;
CREATE TABLE survey_figures (
	nid      INTEGER PRIMARY KEY,
	survey   BIGINT NOT NULL,
	asked    TEXT   NOT NULL,
	revision BIGINT NOT NULL,
	changes  BIGINT NOT NULL,
	gone     BIGINT NOT NULL,
	job      TEXT   NOT NULL,
	whole    BIGINT NOT NULL,
	body     TEXT   NOT NULL
);
CREATE INDEX survey_figures_asked ON survey_figures (survey, asked, nid);
CREATE INDEX survey_figures_newest ON survey_figures (survey, nid);
CREATE TRIGGER surveys_changes_in AFTER INSERT ON surveys BEGIN
	INSERT INTO survey_changes (survey, shard, n, gone) VALUES (NEW.nid, 0, 0, 0);
END;
CREATE TRIGGER surveys_changes_out AFTER DELETE ON surveys BEGIN
	DELETE FROM survey_changes WHERE survey = OLD.nid;
	DELETE FROM survey_figures WHERE survey = OLD.nid;
END;
CREATE TRIGGER responses_changed_out AFTER DELETE ON responses BEGIN
	UPDATE survey_changes SET n = n + 1, gone = gone + 1 WHERE survey = OLD.survey AND shard = 0;
	DELETE FROM survey_figures WHERE survey = OLD.survey;
END;
CREATE TRIGGER responses_changed AFTER UPDATE OF round, household, stratum, grp, status, vstatus, unfit, typed, answers ON responses
	WHEN OLD.round <> NEW.round OR OLD.household <> NEW.household OR OLD.stratum <> NEW.stratum OR OLD.grp <> NEW.grp OR OLD.status <> NEW.status
		OR OLD.vstatus <> NEW.vstatus OR OLD.unfit <> NEW.unfit OR OLD.typed <> NEW.typed OR OLD.answers <> NEW.answers BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
CREATE TRIGGER responses_forgotten AFTER UPDATE OF status, typed ON responses
	WHEN NEW.status = 'redacted' AND OLD.status <> 'redacted' OR NEW.typed = 2 AND OLD.typed <> 2 BEGIN
	UPDATE survey_changes SET gone = gone + 1 WHERE survey = NEW.survey AND shard = 0;
	DELETE FROM survey_figures WHERE survey = NEW.survey;
END;
CREATE TRIGGER survey_households_changed_in AFTER INSERT ON survey_households BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
CREATE TRIGGER survey_households_changed_out AFTER DELETE ON survey_households BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = OLD.survey AND shard = 0;
END;
CREATE TRIGGER survey_households_changed AFTER UPDATE OF stratum, grp, cluster, source, replaces, outcome, outcome_round, since ON survey_households
	WHEN OLD.stratum <> NEW.stratum OR OLD.grp <> NEW.grp OR OLD.cluster <> NEW.cluster OR OLD.source <> NEW.source OR OLD.replaces <> NEW.replaces
		OR OLD.outcome <> NEW.outcome OR OLD.outcome_round <> NEW.outcome_round OR OLD.since <> NEW.since BEGIN
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
CREATE TABLE server_shared (
	name   TEXT PRIMARY KEY,
	sealed BLOB NOT NULL
);
CREATE TABLE instances (
	id       TEXT PRIMARY KEY,
	name     TEXT NOT NULL,
	version  TEXT NOT NULL,
	schema   BIGINT NOT NULL,
	started  BIGINT NOT NULL,
	beat     BIGINT NOT NULL,
	skew     BIGINT NOT NULL,
	draining BIGINT NOT NULL
);
CREATE TRIGGER entities_count_in AFTER INSERT ON entities BEGIN
	INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'entity', NEW.type, NEW.status, 0, 1)
		ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = n + 1;
END;
CREATE TRIGGER responses_in AFTER INSERT ON responses BEGIN
	INSERT INTO counts (ws, kind, part, state, shard, n) VALUES (NEW.ws, 'response', NEW.status, NEW.vstatus, 0, 1)
		ON CONFLICT (ws, kind, part, state, shard) DO UPDATE SET n = n + 1;
	INSERT INTO survey_days (survey, round, day, status, shard, n)
		SELECT NEW.survey, NEW.round, NEW.submitted_at / 86400000, NEW.status, 0, 1 WHERE NEW.vstatus NOT IN ('superseded', 'invalidated')
		ON CONFLICT (survey, round, day, status, shard) DO UPDATE SET n = n + 1;
	UPDATE survey_changes SET n = n + 1 WHERE survey = NEW.survey AND shard = 0;
END;
CREATE TABLE claims (
	nid          INTEGER PRIMARY KEY,
	ws           TEXT NOT NULL,
	did          TEXT NOT NULL,
	cid          TEXT NOT NULL,
	project      TEXT NOT NULL,
	type         TEXT NOT NULL,
	kind         TEXT NOT NULL,
	subject      BIGINT NOT NULL,
	subject_did  TEXT NOT NULL,
	claimant     TEXT NOT NULL,
	collection   BIGINT NOT NULL DEFAULT 0,
	starts       BIGINT NOT NULL,
	ends         BIGINT NOT NULL,
	amount       REAL NOT NULL,
	unit         TEXT NOT NULL,
	dedupe       TEXT,
	status       TEXT NOT NULL,
	approved     REAL NOT NULL DEFAULT 0,
	summed       BIGINT NOT NULL DEFAULT 0,
	submitted_at BIGINT NOT NULL,
	document     TEXT NOT NULL
, facts TEXT NOT NULL DEFAULT '', protocol TEXT NOT NULL DEFAULT '', version TEXT NOT NULL DEFAULT '', due BIGINT NOT NULL DEFAULT 0, serial TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX claims_cid ON claims (ws, cid);
CREATE UNIQUE INDEX claims_dedupe ON claims (ws, kind, dedupe) WHERE dedupe IS NOT NULL;
CREATE INDEX claims_list ON claims (ws, nid);
CREATE INDEX claims_status ON claims (ws, status, nid);
CREATE INDEX claims_subject ON claims (subject, nid);
CREATE INDEX claims_summed ON claims (summed) WHERE summed <> 0;
CREATE TABLE claim_cover (
	ws     TEXT NOT NULL,
	kind   TEXT NOT NULL,
	node   BIGINT NOT NULL,
	ends   BIGINT NOT NULL,
	claim  BIGINT NOT NULL,
	starts BIGINT NOT NULL,
	own    BIGINT NOT NULL,
	PRIMARY KEY (ws, kind, node, ends, claim)
) WITHOUT ROWID;
CREATE INDEX claim_cover_claim ON claim_cover (claim);
CREATE TABLE claim_kinds (
	ws      TEXT NOT NULL,
	kind    TEXT NOT NULL,
	changes BIGINT NOT NULL,
	PRIMARY KEY (ws, kind)
) WITHOUT ROWID;
CREATE INDEX relationships_ended_out ON relationships (src, role, removed_at) WHERE removed_at IS NOT NULL;
CREATE INDEX relationships_ended_in ON relationships (dst, role, removed_at) WHERE removed_at IS NOT NULL;
CREATE TABLE cache_versions (
	topic   TEXT   PRIMARY KEY,
	version BIGINT NOT NULL
);
CREATE TABLE cache_confirmed (
	instance TEXT   NOT NULL,
	topic    TEXT   NOT NULL,
	version  BIGINT NOT NULL,
	PRIMARY KEY (instance, topic)
) WITHOUT ROWID;
CREATE TABLE claim_evaluations (
	nid         INTEGER PRIMARY KEY,
	ws          TEXT NOT NULL,
	claim       BIGINT NOT NULL,
	at          BIGINT NOT NULL,
	evaluator   TEXT NOT NULL,
	oracle      TEXT NOT NULL,
	protocol    TEXT NOT NULL,
	version     TEXT NOT NULL,
	rubric_hash TEXT NOT NULL,
	facts       TEXT NOT NULL,
	outcome     TEXT NOT NULL,
	reason_code TEXT NOT NULL,
	rule        TEXT NOT NULL,
	amount      REAL NOT NULL,
	status      TEXT NOT NULL,
	reason      TEXT NOT NULL
, automatic BIGINT NOT NULL DEFAULT 0, erased BIGINT NOT NULL DEFAULT 0);
CREATE INDEX claim_evaluations_claim ON claim_evaluations (claim, nid);
CREATE TABLE vouchers (
	nid         BIGINT PRIMARY KEY,
	ws          TEXT NOT NULL,
	voucher_id  TEXT NOT NULL,
	project     TEXT NOT NULL,
	recipient   TEXT NOT NULL,
	certificate TEXT NOT NULL,
	supplier    TEXT NOT NULL,
	value       BIGINT NOT NULL,
	balance     BIGINT NOT NULL CHECK (balance >= 0 AND balance <= value),
	currency    TEXT NOT NULL,
	state       TEXT NOT NULL,
	expires_at  BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	actor       TEXT NOT NULL,
	reason      TEXT NOT NULL,
	attributes  TEXT NOT NULL
);
CREATE UNIQUE INDEX vouchers_id ON vouchers (ws, voucher_id);
CREATE INDEX vouchers_newest ON vouchers (ws, nid);
CREATE INDEX vouchers_recipient ON vouchers (ws, recipient, nid);
CREATE INDEX vouchers_project ON vouchers (ws, project, nid);
CREATE TABLE voucher_redemptions (
	nid           BIGINT PRIMARY KEY,
	ws            TEXT NOT NULL,
	redemption_id TEXT NOT NULL,
	voucher       BIGINT NOT NULL,
	supplier      TEXT NOT NULL,
	amount        BIGINT NOT NULL CHECK (amount > 0),
	balance       BIGINT NOT NULL,
	product       TEXT NOT NULL,
	mode          TEXT NOT NULL,
	at            BIGINT NOT NULL,
	actor         TEXT NOT NULL
);
CREATE UNIQUE INDEX voucher_redemptions_id ON voucher_redemptions (ws, redemption_id);
CREATE INDEX voucher_redemptions_voucher ON voucher_redemptions (voucher, nid);
CREATE TABLE collect_waiting (
	nid       BIGINT NOT NULL PRIMARY KEY,
	ws        TEXT   NOT NULL,
	sender    TEXT   NOT NULL,
	instance  TEXT   NOT NULL,
	survey_id TEXT   NOT NULL,
	project   TEXT   NOT NULL,
	household TEXT   NOT NULL,
	at        BIGINT NOT NULL,
	sealed    BLOB   NOT NULL
);
CREATE UNIQUE INDEX collect_waiting_of ON collect_waiting (ws, sender, instance);
CREATE INDEX collect_waiting_at ON collect_waiting (at);
CREATE INDEX collect_waiting_household ON collect_waiting (ws, household);
CREATE TABLE collect_files (
	ws       TEXT NOT NULL,
	sender   TEXT NOT NULL,
	instance TEXT NOT NULL,
	name     TEXT NOT NULL,
	sha256   TEXT NOT NULL,
	PRIMARY KEY (ws, sender, instance, name)
);
CREATE INDEX claim_cover_node ON claim_cover (node, kind);
CREATE TABLE voucher_totals (
	ws          TEXT   NOT NULL,
	certificate TEXT   NOT NULL,
	currency    TEXT   NOT NULL,
	value       BIGINT NOT NULL,
	PRIMARY KEY (ws, certificate, currency)
);
CREATE TABLE issuer_keys (
	nid        INTEGER PRIMARY KEY,
	ws         TEXT NOT NULL,
	issuer     BIGINT NOT NULL,
	controller TEXT NOT NULL,
	method     TEXT NOT NULL,
	public     TEXT NOT NULL,
	sealed     BLOB NOT NULL,
	created_at BIGINT NOT NULL,
	ended_at   BIGINT NOT NULL,
	stolen_at  BIGINT NOT NULL
);
CREATE UNIQUE INDEX issuer_keys_method ON issuer_keys (method);
CREATE UNIQUE INDEX issuer_keys_current ON issuer_keys (issuer) WHERE ended_at = 0;
CREATE INDEX issuer_keys_issuer ON issuer_keys (issuer, nid);
CREATE TABLE status_lists (
	nid        INTEGER PRIMARY KEY,
	ws         TEXT NOT NULL,
	issuer     BIGINT NOT NULL,
	list_id    TEXT NOT NULL,
	created_at BIGINT NOT NULL
, address TEXT NOT NULL DEFAULT '');
CREATE UNIQUE INDEX status_lists_id ON status_lists (list_id);
CREATE INDEX status_lists_issuer ON status_lists (issuer, nid);
CREATE TABLE credentials (
	nid       INTEGER PRIMARY KEY,
	ws        TEXT NOT NULL,
	did       TEXT NOT NULL,
	page      TEXT NOT NULL,
	uri       TEXT NOT NULL,
	project   TEXT NOT NULL,
	subject   BIGINT NOT NULL,
	claim     BIGINT NOT NULL,
	issuer    BIGINT NOT NULL,
	list      BIGINT NOT NULL,
	place     BIGINT NOT NULL,
	state     TEXT NOT NULL,
	suspended BIGINT NOT NULL,
	revoked   BIGINT NOT NULL,
	retired   BIGINT NOT NULL,
	disputed  BIGINT NOT NULL,
	issued_at BIGINT NOT NULL,
	salt      BLOB NOT NULL,
	says      TEXT NOT NULL,
	document  TEXT NOT NULL
);
CREATE UNIQUE INDEX credentials_page ON credentials (page);
CREATE UNIQUE INDEX credentials_uri ON credentials (uri);
CREATE UNIQUE INDEX credentials_place ON credentials (list, place);
CREATE INDEX credentials_revoked ON credentials (list, place) WHERE revoked = 1;
CREATE INDEX credentials_suspended ON credentials (list, place) WHERE suspended = 1;
CREATE INDEX credentials_list ON credentials (ws, nid);
CREATE INDEX credentials_state ON credentials (ws, state, nid);
CREATE INDEX credentials_project ON credentials (ws, project, nid);
CREATE INDEX credentials_subject ON credentials (subject, nid);
CREATE INDEX credentials_claim ON credentials (claim, nid);
CREATE INDEX credentials_issuer ON credentials (issuer, nid);
CREATE INDEX device_status_trimmed ON device_status (trimmed, device);
CREATE TABLE claim_disputes (
	nid        INTEGER PRIMARY KEY,
	ws         TEXT NOT NULL,
	claim      BIGINT NOT NULL,
	at         BIGINT NOT NULL,
	disputer   TEXT NOT NULL,
	reason     TEXT NOT NULL,
	was        TEXT NOT NULL,
	status     TEXT NOT NULL,
	decided_at BIGINT NOT NULL DEFAULT 0,
	decided_by TEXT NOT NULL DEFAULT '',
	answer     TEXT NOT NULL DEFAULT ''
, erased BIGINT NOT NULL DEFAULT 0);
CREATE INDEX claim_disputes_claim ON claim_disputes (claim, nid);
CREATE UNIQUE INDEX claim_disputes_open ON claim_disputes (claim) WHERE status = 'open';
CREATE TABLE claim_collections (
	nid         INTEGER PRIMARY KEY,
	ws          TEXT NOT NULL,
	project     TEXT NOT NULL,
	name        TEXT NOT NULL,
	description TEXT NOT NULL,
	protocol    TEXT NOT NULL,
	version     TEXT NOT NULL,
	state       TEXT NOT NULL,
	quota       BIGINT NOT NULL,
	starts      BIGINT NOT NULL,
	ends        BIGINT NOT NULL,
	revision    BIGINT NOT NULL,
	created_at  BIGINT NOT NULL,
	updated_at  BIGINT NOT NULL,
	actor       TEXT NOT NULL,
	pending     BIGINT NOT NULL DEFAULT 0,
	flagged     BIGINT NOT NULL DEFAULT 0,
	disputed    BIGINT NOT NULL DEFAULT 0,
	approved    BIGINT NOT NULL DEFAULT 0,
	rejected    BIGINT NOT NULL DEFAULT 0,
	invalidated BIGINT NOT NULL DEFAULT 0,
	withdrawn   BIGINT NOT NULL DEFAULT 0
);
CREATE INDEX claim_collections_list ON claim_collections (ws, nid);
CREATE INDEX claims_collection ON claims (collection, nid) WHERE collection <> 0;
CREATE TRIGGER claims_collected_in AFTER INSERT ON claims WHEN NEW.collection <> 0 BEGIN
	UPDATE claim_collections SET pending = pending + (NEW.status = 'pending'), flagged = flagged + (NEW.status = 'flagged'), disputed = disputed + (NEW.status = 'disputed'), approved = approved + (NEW.status = 'approved'),
		rejected = rejected + (NEW.status = 'rejected'), invalidated = invalidated + (NEW.status = 'invalidated'), withdrawn = withdrawn + (NEW.status = 'withdrawn') WHERE nid = NEW.collection;
END;
CREATE TRIGGER claims_collected_out AFTER DELETE ON claims WHEN OLD.collection <> 0 BEGIN
	UPDATE claim_collections SET pending = pending - (OLD.status = 'pending'), flagged = flagged - (OLD.status = 'flagged'), disputed = disputed - (OLD.status = 'disputed'), approved = approved - (OLD.status = 'approved'),
		rejected = rejected - (OLD.status = 'rejected'), invalidated = invalidated - (OLD.status = 'invalidated'), withdrawn = withdrawn - (OLD.status = 'withdrawn') WHERE nid = OLD.collection;
END;
CREATE TRIGGER claims_collected_move AFTER UPDATE OF status ON claims WHEN NEW.collection <> 0 AND OLD.status <> NEW.status BEGIN
	UPDATE claim_collections SET pending = pending + (NEW.status = 'pending') - (OLD.status = 'pending'), flagged = flagged + (NEW.status = 'flagged') - (OLD.status = 'flagged'), disputed = disputed + (NEW.status = 'disputed') - (OLD.status = 'disputed'), approved = approved + (NEW.status = 'approved') - (OLD.status = 'approved'),
		rejected = rejected + (NEW.status = 'rejected') - (OLD.status = 'rejected'), invalidated = invalidated + (NEW.status = 'invalidated') - (OLD.status = 'invalidated'), withdrawn = withdrawn + (NEW.status = 'withdrawn') - (OLD.status = 'withdrawn') WHERE nid = NEW.collection;
END;
CREATE INDEX claims_due ON claims (due, nid) WHERE due <> 0 AND status = 'pending';
CREATE INDEX claims_due_ws ON claims (ws, due, nid) WHERE due <> 0 AND status = 'pending';
CREATE TABLE twin_proposals (
	nid         BIGINT NOT NULL PRIMARY KEY,
	ws          TEXT   NOT NULL,
	survey      BIGINT NOT NULL,
	response_id TEXT   NOT NULL,
	household   TEXT   NOT NULL,
	list        TEXT   NOT NULL,
	action      TEXT   NOT NULL,
	twin        TEXT   NOT NULL,
	base        BIGINT NOT NULL,
	trunk       BIGINT NOT NULL,
	branch      TEXT   NOT NULL,
	at          BIGINT NOT NULL,
	status      TEXT   NOT NULL,
	conflict    TEXT   NOT NULL DEFAULT '',
	revision    BIGINT NOT NULL DEFAULT 0,
	decided_at  BIGINT NOT NULL DEFAULT 0,
	decided_by  TEXT   NOT NULL DEFAULT '',
	reason      TEXT   NOT NULL DEFAULT '',
	sealed      BLOB NOT NULL
);
CREATE UNIQUE INDEX twin_proposals_of ON twin_proposals (ws, response_id, action);
CREATE INDEX twin_proposals_survey ON twin_proposals (survey, status, nid);
CREATE INDEX twin_proposals_branch ON twin_proposals (ws, twin, branch, base, nid);
CREATE INDEX twin_proposals_household ON twin_proposals (ws, household);
CREATE INDEX claims_kind ON claims (ws, kind, nid);
CREATE TABLE claim_leases (
	claim  BIGINT PRIMARY KEY,
	ws     TEXT NOT NULL,
	holder TEXT NOT NULL,
	until  BIGINT NOT NULL
);
CREATE INDEX claim_leases_until ON claim_leases (ws, until);
CREATE INDEX claim_leases_holder ON claim_leases (ws, holder);
CREATE INDEX claims_waiting ON claims (ws, nid) WHERE status IN ('pending', 'flagged');
CREATE TABLE evaluation_consents (
	oracle    BIGINT NOT NULL,
	principal TEXT NOT NULL,
	ws        TEXT NOT NULL,
	at        BIGINT NOT NULL,
	PRIMARY KEY (oracle, principal)
);
CREATE INDEX claims_serial ON claims (kind, serial, ends) WHERE serial <> '';
CREATE INDEX oracle_runs_live ON oracle_runs (user_did, session) WHERE ended_at IS NULL;
CREATE INDEX relationships_out ON relationships (src, nid) WHERE removed_at IS NULL;
CREATE INDEX relationships_in ON relationships (dst, nid) WHERE removed_at IS NULL;
CREATE INDEX relationships_external ON relationships (ws, dst_did, nid) WHERE dst = 0 AND removed_at IS NULL;
CREATE TABLE credit_charges (
  workspace TEXT NOT NULL,
  did TEXT NOT NULL,
  nid BIGINT NOT NULL,
  run TEXT NOT NULL,
  amount BIGINT NOT NULL,
  balance BIGINT NOT NULL,
  created_at BIGINT NOT NULL,
  PRIMARY KEY (workspace, did, nid)
) WITHOUT ROWID;
