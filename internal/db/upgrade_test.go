package db_test

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// shipped gives the first n migrations of the program.
func shipped(t *testing.T, n int) fs.FS {
	t.Helper()
	all, m := os.DirFS("migrations"), fstest.MapFS{}
	for _, engine := range []string{"sqlite", "postgres"} {
		files, err := fs.Glob(all, engine+"/*.sql")
		if err != nil || len(files) < n {
			t.Fatalf("%d migrations for %s, error %v; want at least %d", len(files), engine, err, n)
		}
		for _, name := range files[:n] {
			data, err := fs.ReadFile(all, name)
			if err != nil {
				t.Fatal(err)
			}
			m[path.Join(engine, path.Base(name))] = &fstest.MapFile{Data: data}
		}
	}
	return m
}

// Whom a workspace had erased before area B had a table of its own takes
// nothing new after the upgrade either.
func TestUpgradeKeepsWhoWasErased(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 25)) // 0000 to 0024
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		for i, who := range []string{"did:ixo:household/1", "did:ixo:household/1", "did:ixo:household/2"} {
			if _, err := d.Exec(t.Context(), `INSERT INTO erasures (ws, nid, subject, at, body) VALUES ($1, $2, $3, $4, $5)`, "ws", i, who, 1, "{}"); err != nil {
				t.Fatal(err)
			}
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		rows, err := d.Query(t.Context(), `SELECT ws, household FROM survey_erased ORDER BY household`)
		if err != nil {
			t.Fatal(err)
		}
		defer rows.Close()
		var got string
		for rows.Next() {
			var ws, who string
			if err := rows.Scan(&ws, &who); err != nil {
				t.Fatal(err)
			}
			got += fmt.Sprintln(ws, who)
		}
		if want := "ws did:ixo:household/1\nws did:ixo:household/2\n"; got != want || rows.Err() != nil {
			t.Errorf("erased = %q, error %v; want %q", got, rows.Err(), want)
		}
	})
}

// TestUpgradeTellsWhatJobsAreAbout: jobs of before lead to their imports and
// exports.
func TestUpgradeTellsWhatJobsAreAbout(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 54)) // 0000 to 0053
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		for i, kind := range []string{"entity.import", "entity.export", "store.sweep"} {
			if _, err := d.Exec(t.Context(), `INSERT INTO jobs (nid, id, ws, kind, status, payload, max_attempts, created_by, caller, request_id, created_at) VALUES ($1, $2, 'ws', $3, 'succeeded', '{}', 1, '', '{}', '', 1)`, i+1, "j"+fmt.Sprint(i), kind); err != nil {
				t.Fatal(err)
			}
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		for id, want := range map[string]string{"j0": "/v1/imports/j0", "j1": "/v1/exports/j1", "j2": ""} {
			var got string
			if err := d.QueryRow(t.Context(), `SELECT about FROM jobs WHERE id = $1`, id).Scan(&got); err != nil || got != want {
				t.Errorf("%s is about %q, %v; want %q", id, got, err, want)
			}
		}
	})
}

// TestUpgradeKeepsDeliveries: deliveries of before have no answer that was kept, and
// invitations and calls that are over find their tables empty and ready.
func TestUpgradeKeepsDeliveries(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 53)) // 0000 to 0052
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		run := func(text string) {
			t.Helper()
			if _, err := d.Exec(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		run(`INSERT INTO webhook_deliveries (webhook, seq, type, status, attempts, next_at, lease_owner, last_status, last_error, created_at, updated_at) VALUES ('w', 7, 'key.created', 'dead', 3, 1, '', 503, 'full', 1, 2)`)
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		if got := texts(t, d, `SELECT webhook || ' ' || seq || ' ' || status || ' ' || last_error || ' [' || answer || ']' FROM webhook_deliveries`); got != "w 7 dead full []" {
			t.Errorf("deliveries = %s", got)
		}
		run(`INSERT INTO invites (id, ws, hash, draft, key_id, created_by, created_at, ends_at) VALUES ('i', 'w', 'h', '{}', 'k', 'x', 1, 2)`)
		run(`INSERT INTO ussd_walks (id, session_id, phone, gateway, code, pack, lang, node, ending, started_at, ended_at, steps) VALUES ('c', 's', '+1', 'g', '*1#', 'p', 'en', 'n', 'ended', 1, 2, 'x')`)
		run(`INSERT INTO ussd_visits (day, pack, node, sample, visits, refused, dropped) VALUES ('2026-01-01', 'p', 'n', 0, 1, 0, 0)`)
		if got := texts(t, d, `SELECT i.principal || i.made || w.ending || v.visits FROM invites i, ussd_walks w, ussd_visits v`); got != "ended1" {
			t.Errorf("what was stored since = %s", got)
		}
	})
}

// TestUpgradeFindsWords: twins of before are found by the words of their names,
// their numbers and places.
func TestUpgradeFindsWords(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 62)) // 0000 to 0061
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		if _, err := d.Exec(t.Context(), `INSERT INTO entities (nid, ws, did, type, class, domain_type, protocol, protocol_version, project, name, status, revision, crowded,
			type_key, protocol_key, created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, body)
			VALUES (1, 'ws', 'did:x:1', '', '', '', '', '', '', 'Amina Atieno-Otieno', 'active', 1, 0, 0, 0, 0, 0, '', '', '', '', $1, $2)`, []byte{},
			`{"properties":{"phone":"+254 712-345678","district":"Homa Bay","location":{"village":"Mbita","lat":1}}}`); err != nil {
			t.Fatal(err)
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		want := []string{"-5 ws\x1fmbita", "-3 ws\x1fbay", "-3 ws\x1fhoma bay", "-2 ws\x1f254712345678", "-2 ws\x1f712345678", "-1 ws\x1famina", "-1 ws\x1fatieno", "-1 ws\x1fotieno"}
		if got := columnOf(t, d, `SELECT pid || ' ' || val FROM entity_props ORDER BY pid, val`); !slices.Equal(got, want) {
			t.Errorf("words = %q, want %q", got, want)
		}
	})
}

// TestUpgradeAdmitsKeys: members keep their rights with the keys of today, and
// keys that were made with the role manager no longer take twins over.
func TestUpgradeAdmitsKeys(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 31)) // 0000 to 0030
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		manager, err := json.Marshal(slices.Sorted(slices.Values(append(managerScopes(), "entities:transfer"))))
		if err != nil {
			t.Fatal(err)
		}
		run := func(text string, args ...any) {
			t.Helper()
			if _, err := d.Exec(t.Context(), text, args...); err != nil {
				t.Fatal(err)
			}
		}
		twin := func(nid int, did string, chosen int, body string) {
			run(`INSERT INTO entities(nid, ws, did, type, class, domain_type, protocol, protocol_version, project, status, name, revision, crowded,
				type_key, protocol_key, project_key, status_key, created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, rev_hash, body, chosen)
				VALUES ($1, 'default', $2, 'Person', 'physical', 'person', 'p', '1.0.0', '', 'active', '', 1, 0, 0, 0, 0, 0, 1, 1, '', '', '', '', $3, $4, $5)`,
				nid, did, []byte{1}, body, chosen)
		}
		twin(9, "did:x:group", 0, `{"did":"did:x:group","properties":{"scopes":["entities:read"]}}`)
		twin(1, "did:x:made", 0, `{"did":"did:x:made","alsoKnownAs":["did:key:z1","https://example.org","did:key:z2"]}`)
		twin(4, "did:x:odd", 0, `{"did":"did:x:odd","metadata":{"name":"\u0000"}}`)
		twin(2, "did:x:chosen", 1, `{"did":"did:x:chosen","alsoKnownAs":["did:key:z3"]}`)
		twin(3, "did:x:plain", 0, `{"did":"did:x:plain"}`)
		for _, who := range []string{"did:x:made", "did:x:chosen", "did:x:plain", "did:x:odd", "did:x:elsewhere"} {
			run(`INSERT INTO group_members(ws, member, grp, added_at, added_by) VALUES ('default', $1, 9, 1, 'x')`, who)
		}
		run(`INSERT INTO workspaces(id, name, created_by, created_at, revision) VALUES ('default', 'd', 'x', 1, 1)`)
		run(`INSERT INTO principals(workspace, did, kind, name, created_at) VALUES ('default', 'p', 'service', 'n', 1)`)
		for id, scopes := range map[string]string{"manager": string(manager), "named": `["entities:transfer"]`} {
			run(`INSERT INTO api_keys(id, workspace, principal, name, prefix, hash, scopes, projects, networks, created_by, created_at, revision)
				VALUES ($1, 'default', 'p', 'n', $1, $2, $3, '[]', '[]', 'x', 1, 1)`, id, []byte(id), scopes)
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		want := `did:x:made did:key:z1 ["entities:read"] proven, did:x:made did:key:z2 ["entities:read"] proven`
		if got := texts(t, d, `SELECT did || ' ' || key || ' ' || scopes || CASE refused WHEN 0 THEN '' ELSE ' refused' END || CASE proven WHEN 0 THEN '' ELSE ' proven' END FROM entity_keys ORDER BY key`); got != want {
			t.Errorf("admitted keys = %s", got)
		}
		if got := texts(t, d, `SELECT id || CASE WHEN scopes LIKE '%entities:transfer%' THEN ' takes over' ELSE ' does not' END FROM api_keys ORDER BY id`); got != "manager does not, named takes over" {
			t.Errorf("keys = %s", got)
		}
	})
}

// managerScopes are those of the role manager as this version stores them.
func managerScopes() []string {
	return []string{
		"analytics:*", "audit:read", "claims:read", "claims:write", "credentials:read", "credentials:write", "devices:*", "entities:pii",
		"entities:read", "entities:write", "evaluations:read", "events:read", "exports:*", "groups:*", "imports:*", "jobs:*", "keys:*", "oracle:*",
		"protocols:*", "responses:pii", "responses:read", "responses:write", "sampling:*", "sessions:*", "surveys:*", "templates:*", "ussd:*", "webhooks:*",
	}
}

// texts is a column of texts as one.
func texts(t *testing.T, d *db.DB, query string) string {
	t.Helper()
	return strings.Join(columnOf(t, d, query), ", ")
}

// TestUpgradeKeepsExports: exports of responses go on with those of twins, with
// their files, and the file of each belongs to its job.
func TestUpgradeKeepsExports(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 39)) // 0000 to 0038
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		for _, text := range []string{
			`INSERT INTO transfers (job, ws, kind, file, settings, counts, created_at) VALUES ('j1', 'ws', 'entity.export', 'f1', '{"a":1}', '{}', 1)`,
			`INSERT INTO survey_exports (job, ws, survey, file, settings, counts, created_at) VALUES ('j2', 'ws', 7, 'f2', '{"b":2}', '{"c":3}', 2)`,
			`INSERT INTO transfer_files (id, ws, kind, job, bytes, sha256, at) VALUES ('f1', 'ws', 'export', '', 0, '', 1), ('f2', 'ws', 'survey.export', 'j2', 5, '', 2), ('f3', 'ws', 'upload', '', 0, '', 3)`,
		} {
			if _, err := d.Exec(t.Context(), text); err != nil {
				t.Fatal(err)
			}
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		list := func(text string) string {
			t.Helper()
			rows, err := d.Query(t.Context(), text)
			all, err := db.Collect(rows, err, "list", db.Column[string])
			if err != nil {
				t.Fatal(err)
			}
			return strings.Join(all, "\n")
		}
		if got, want := list(`SELECT job || ' ' || kind || ' ' || about || ' ' || file || ' ' || settings || ' ' || counts || ' ' || created_at FROM transfers ORDER BY job`),
			"j1 entity.export 0 f1 {\"a\":1} {} 1\nj2 survey.export 7 f2 {\"b\":2} {\"c\":3} 2"; got != want {
			t.Errorf("orders = %s\nwant %s", got, want)
		}
		if got, want := list(`SELECT id || ' ' || kind || ' ' || job FROM transfer_files ORDER BY id`), "f1 export j1\nf2 export j2\nf3 upload "; got != want {
			t.Errorf("files = %s\nwant %s", got, want)
		}
	})
}

// TestUpgradeFollowsResponses: households that have answered before have the
// outcome that their response says, and the figures count it.
func TestUpgradeFollowsResponses(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 44)) // 0000 to 0043
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		exec := func(text string, args ...any) {
			t.Helper()
			if _, err := d.Exec(t.Context(), text, args...); err != nil {
				t.Fatal(err)
			}
		}
		exec(`INSERT INTO surveys (nid, ws, survey_id, project, stage, template_id, status, revision, touched, created_at, updated_at, rev_action, rev_actor, rev_request, rev_reason, body)
			VALUES (7, 'ws', 's', 'p', 'baseline', 't', 'active', 1, 1, 1, 1, '', '', '', '', '{}')`)
		exec(`INSERT INTO survey_counts (survey, round, stratum, grp, shard, listed, contacted, refused, unreachable, completed, partial, verified, rejected, flagged)
			VALUES (7, 1, 'a', 1, 0, 0, 3, 0, 0, 4, 1, 0, 1, 0)`)
		for i, r := range []struct{ status, vstatus, body string }{
			{"complete", "verified", `{"eligible":true}`},
			{"partial", "pending", `{}`},
			{"complete", "pending", `{"metadata":{"eligible":true,"x":1e400000},"eligible":false}`},
			{"complete", "pending", `{"metadata":{"eligible":false}}`},
			{"complete", "rejected", `{}`},
			{"redacted", "pending", `{}`},
			{"complete", "invalidated", `{"eligible":false}`},
		} {
			slot := 0
			if r.status == "redacted" || r.vstatus == "invalidated" {
				slot = i + 1
			}
			exec(`INSERT INTO survey_households (survey, household, stratum, grp, area, collector, outcome, outcome_round, outcome_at, attributes, rev, updated_at)
				VALUES (7, $1, 'a', 1, '', '', 2, 1, 1, '', 1, 1)`, fmt.Sprint(i))
			exec(`INSERT INTO responses (nid, ws, response_id, survey, round, household, slot, stratum, grp, status, vstatus, verifier, verified_at, reviews, flags, files, collector, sender,
					submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked)
				VALUES ($1, 'ws', $2, 7, 1, $3, $4, 'a', 'adopter', $5, $6, '', 0, 0, 0, 0, '', '', 1, 1, 1, 1, '', '', '', '', '', '', $7, '{}', '')`,
				i+1, fmt.Sprint("r", i), fmt.Sprint(i), slot, r.status, r.vstatus, r.body)
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		rows, err := d.Query(t.Context(), `SELECT outcome FROM survey_households ORDER BY household`)
		got, err := db.Collect(rows, err, "outcomes", db.Column[int64])
		if want := []int64{2, 7, 8, 2, 9, 1, 1}; err != nil || !slices.Equal(got, want) {
			t.Errorf("outcomes = %v, %v; want %v", got, err, want)
		}
		var byHand int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM survey_households WHERE cluster = '' AND source = 0 AND replaces = ''`).Scan(&byHand); err != nil || byHand != 7 {
			t.Errorf("%d households are listed by hand, %v; want 7", byHand, err)
		}
		var contacted, ineligible, completed int
		if err := d.QueryRow(t.Context(), `SELECT contacted, ineligible, completed FROM survey_counts`).Scan(&contacted, &ineligible, &completed); err != nil {
			t.Fatal(err)
		}
		if contacted != 5 || ineligible != 1 || completed != 4 {
			t.Errorf("contacted %d, ineligible %d, completed %d; want 5, 1 and 4", contacted, ineligible, completed)
		}
	})
}

// TestUpgradeCountsLengths: interviews from before are counted by how long they
// took, where a new one of that length would be.
func TestUpgradeCountsLengths(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 46)) // 0000 to 0045
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		for i, r := range []struct{ status, vstatus, collector, body string }{
			{"complete", "verified", "a", `{"durationSec":1}`},
			{"complete", "pending", "a", `{"durationSec":600.9,"metadata":{"x":1e400000}}`},
			{"complete", "pending", "a", `{"durationSec":600}`},
			{"complete", "pending", "b", `{"durationSec":600}`},
			{"complete", "pending", "b", `{"durationSec":0.4}`},
			{"complete", "pending", "b", `{"metadata":{"durationSec":60}}`},
			{"complete", "rejected", "b", `{"durationSec":60}`},
			{"partial", "pending", "b", `{"durationSec":60}`},
			{"complete", "superseded", "b", `{"durationSec":60}`},
		} {
			_, err := d.Exec(t.Context(), `INSERT INTO responses (nid, ws, response_id, survey, round, household, slot, stratum, grp, status, vstatus, verifier, verified_at, reviews, flags, files, collector, sender,
					submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked)
				VALUES ($1, 'ws', $2, 7, 1, $2, 0, '', '', $3, $4, '', 0, 0, 0, 0, $5, '', 1, 1, 1, 1, '', '', '', '', '', '', $6, '{}', '')`,
				i+1, fmt.Sprint("r", i), r.status, r.vstatus, r.collector, r.body)
			if err != nil {
				t.Fatal(err)
			}
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		rows, err := d.Query(t.Context(), `SELECT collector, bucket, n FROM survey_lengths ORDER BY collector, bucket`)
		got, err := db.Collect(rows, err, "lengths", func(s *string, row db.Row) error {
			var collector string
			var bucket, n int
			err := row.Scan(&collector, &bucket, &n)
			*s = fmt.Sprint(collector, bucket, "x", n)
			return err
		})
		if want := []string{"0x1", "67x3", "a0x1", "a67x2", "b67x1"}; err != nil || !slices.Equal(got, want) {
			t.Errorf("lengths = %q, %v; want %q", got, err, want)
		}
	})
}

// TestUpgradeNamesPersons: whoever came by invitation is a person, and invitations
// that wait end with the key that made them.
func TestUpgradeNamesPersons(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 60)) // 0000 to 0059
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		run := func(text string, args ...any) {
			t.Helper()
			if _, err := d.Exec(t.Context(), text, args...); err != nil {
				t.Fatal(err)
			}
		}
		run(`INSERT INTO workspaces(id, name, created_by, created_at, revision) VALUES ('default', 'd', 'x', 1, 1), ('other', 'd', 'x', 1, 1)`)
		run(`INSERT INTO principals(workspace, did, kind, name, created_at) VALUES ('default', 'achieng', 'service', 'n', 1),
			('other', 'achieng', 'service', 'n', 1), ('default', 'named', 'service', 'n', 1), ('default', 'boss', 'owner', 'n', 1)`)
		for id, ends := range map[string][3]any{"lasting": {}, "revoked": {5, nil, nil}, "expiring": {nil, 50, nil}, "replaced": {nil, 70, 60}} {
			run(`INSERT INTO api_keys(id, workspace, principal, name, prefix, hash, scopes, projects, networks, created_by, created_at, revision,
				revoked_at, expires_at, grace_until) VALUES ($1, 'default', 'boss', 'n', $1, $2, '[]', '[]', '[]', 'x', 1, 1, $3, $4, $5)`,
				id, []byte(id), ends[0], ends[1], ends[2])
		}
		invite := func(id, key, principal, made string, used any) {
			run(`INSERT INTO invites(id, ws, hash, draft, key_id, created_by, created_at, ends_at, used_at, principal, made)
				VALUES ($1, 'default', $2, '{}', $3, 'boss', 1, 100, $4, $5, $6)`, id, []byte(id), key, used, principal, made)
		}
		for _, key := range []string{"lasting", "revoked", "expiring", "replaced", "gone"} {
			invite("by-"+key, key, "", "", nil)
		}
		invite("used", "revoked", "achieng", "k", 3)
		invite("waits", "lasting", "named", "", nil)
		invite("owned", "lasting", "boss", "k", 3)
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		if got := texts(t, d, `SELECT workspace || ' ' || did || ' ' || kind FROM principals ORDER BY 1`); got != "default achieng person, default boss owner, default named service, other achieng service" {
			t.Errorf("principals = %s", got)
		}
		want := "by-expiring 50, by-gone 100, by-lasting 100, by-replaced 60, by-revoked 100 revoked, owned 100, used 100, waits 100"
		if got := texts(t, d, `SELECT id || ' ' || ends_at || CASE WHEN revoked_at IS NULL THEN '' ELSE ' revoked' END FROM invites ORDER BY id`); got != want {
			t.Errorf("invites = %s", got)
		}
	})
}

// TestUpgradeFindsUntyped: responses from before wait for the rows of their
// answers.
func TestUpgradeFindsUntyped(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, where db.Config) {
		d := reopen(t, where, shipped(t, 74)) // 0000 to 0073
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		_, err := d.Exec(t.Context(), `INSERT INTO responses (nid, ws, response_id, survey, round, household, slot, stratum, grp, status, vstatus, verifier, verified_at, reviews, flags, files, collector, sender,
				submitted_at, received_at, updated_at, revision, rev_action, rev_actor, rev_request, rev_reason, first_hash, hash, body, answers, masked)
			VALUES (3, 'ws', 'r', 7, 1, 'h', 0, '', '', 'complete', 'pending', '', 0, 0, 0, 0, '', '', 1, 1, 1, 1, '', '', '', '', '', '', '{}', '{}', '')`)
		if err != nil {
			t.Fatal(err)
		}
		d = reopen(t, where, nil)
		if err := d.Migrate(t.Context()); err != nil {
			t.Fatalf("Migrate: %v", err)
		}
		if got := texts(t, d, `SELECT response_id || typed || unfit FROM responses WHERE typed = 0 AND nid > 0 ORDER BY nid LIMIT 5`); got != "r00" {
			t.Errorf("waiting = %s", got)
		}
	})
}
