package entity_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
)

// Every step from every status.
func TestTransitions(t *testing.T) {
	t.Parallel()
	const (
		draft, active, suspended, completed, gone = entity.StatusDraft, entity.StatusActive, entity.StatusSuspended, entity.StatusCompleted, entity.StatusDeactivated
	)
	ways := map[entity.Status][]entity.Status{draft: nil, active: {}, suspended: {suspended}, completed: {completed}, gone: {gone}}
	allowed := map[entity.Status][]entity.Status{
		draft: {active, gone}, active: {suspended, completed, gone}, suspended: {active, gone}, completed: {gone}, gone: nil,
	}
	v := newEnv(t, dbtest.SQLite(t))
	for from, way := range ways {
		for _, to := range []entity.Status{draft, active, suspended, completed, gone, "flying", ""} {
			d := draftOf("clean-cooking")
			if from == draft {
				d = draftOf("project") // it needs an organisation
			}
			e := v.create(t, "ws", d)
			for _, step := range way {
				if err := v.transit(t, "ws", e.DID, step); err != nil {
					t.Fatalf("to %s: %v", step, err)
				}
			}
			if got := v.get(t, "ws", e.DID); got.Status != from || got.StatusCode != from.Code() {
				t.Fatalf("status = %s (%d), want %s", got.Status, got.StatusCode, from)
			}
			code := "STATE_TRANSITION_INVALID"
			switch {
			case to.Code() < 0:
				code = "ENTITY_INVALID"
			case from == draft && to == active:
				code = "MISSING_RELATIONSHIPS"
			case slices.Contains(allowed[from], to):
				code = ""
			}
			want(t, string(from)+" to "+string(to), v.transit(t, "ws", e.DID, to), code)
		}
	}
}

// From draft to active: the roles of the protocol, one by one.
func TestDraftToActive(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		device := v.create(t, "ws", draftOf("template"))
		org, oracle := v.create(t, "ws", draftOf("organisation")), v.create(t, "ws", draftOf("oracle"))
		steps := func(missing ...string) {
			t.Helper()
			e := v.get(t, "ws", device.DID)
			if e.Status != entity.StatusDraft || !slices.Equal(e.MissingRelationships, missing) {
				t.Errorf("%s and missing %v, want a draft that misses %v", e.Status, e.MissingRelationships, missing)
			}
		}
		steps("operator", "verifier")
		want(t, "too early", v.transit(t, "ws", device.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		operator, err := v.relate(t, "ws", device.DID, "operator", org.DID)
		want(t, "operator", err, "")
		steps("verifier")
		verifier, err := v.relate(t, "ws", device.DID, "verifier", oracle.DID)
		want(t, "verifier", err, "")
		steps()
		want(t, "remove while a draft", v.unrelate(t, "ws", device.DID, verifier.ID), "")
		steps("verifier")
		_, err = v.relate(t, "ws", device.DID, "verifier", oracle.DID)
		want(t, "verifier again", err, "")
		want(t, "activate", v.transit(t, "ws", device.DID, entity.StatusActive), "")
		want(t, "remove while active", v.unrelate(t, "ws", device.DID, operator.ID), "MISSING_RELATIONSHIPS")
		another, err := v.relate(t, "ws", device.DID, "operator", v.create(t, "ws", draftOf("organisation")).DID)
		want(t, "another operator", err, "")
		want(t, "remove the first", v.unrelate(t, "ws", device.DID, operator.ID), "")
		want(t, "remove the last", v.unrelate(t, "ws", device.DID, another.ID), "MISSING_RELATIONSHIPS")
		want(t, "suspend", v.transit(t, "ws", device.DID, entity.StatusSuspended), "")
		want(t, "remove while suspended", v.unrelate(t, "ws", device.DID, another.ID), "")
		want(t, "back without it", v.transit(t, "ws", device.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		v.consistent(t, "ws", device.DID)
		// All at once in the draft: active from the start.
		e := v.create(t, "ws", with(draftOf("template"), "operator", org.DID, "verifier", oracle.DID))
		if e.Status != entity.StatusActive || len(e.MissingRelationships) > 0 || e.Revision != 1 {
			t.Errorf("twin = %s, missing %v, revision %d", e.Status, e.MissingRelationships, e.Revision)
		}
		if o := v.get(t, "ws", org.DID); o.Revision != 1 {
			t.Errorf("the operator is at revision %d, want 1: roles of a protocol are the device's alone", o.Revision)
		}
	})
}

// A project needs an organisation, an asset a project.
func TestDomainActivation(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org := v.create(t, "ws", draftOf("organisation"))
		project, asset := v.create(t, "ws", draftOf("project")), v.create(t, "ws", draftOf("asset"))
		if !slices.Equal(project.MissingRelationships, []string{"implementedBy"}) || !slices.Equal(asset.MissingRelationships, []string{"generatedBy"}) {
			t.Errorf("missing %v and %v", project.MissingRelationships, asset.MissingRelationships)
		}
		if project.Project != project.DID || asset.Project != "" {
			t.Errorf("projects = %q and %q", project.Project, asset.Project)
		}
		want(t, "project alone", v.transit(t, "ws", project.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		want(t, "asset alone", v.transit(t, "ws", asset.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
		implements, err := v.relate(t, "ws", org.DID, "implements", project.DID)
		want(t, "implements", err, "")
		generates, err := v.relate(t, "ws", project.DID, "generates", asset.DID)
		want(t, "generates", err, "")
		want(t, "project", v.transit(t, "ws", project.DID, entity.StatusActive), "")
		want(t, "asset", v.transit(t, "ws", asset.DID, entity.StatusActive), "")
		if got := v.get(t, "ws", asset.DID); got.Project != project.DID {
			t.Errorf("project of the asset = %q, want %q", got.Project, project.DID)
		}
		want(t, "organisation leaves", v.unrelate(t, "ws", org.DID, implements.ID), "MISSING_RELATIONSHIPS")
		want(t, "project leaves", v.unrelate(t, "ws", project.DID, generates.ID), "MISSING_RELATIONSHIPS")
		v.consistent(t, "ws", org.DID, project.DID, asset.DID)
		for name, draft := range map[string]entity.Draft{
			"asset by its role":               with(draftOf("asset"), "project", project.DID),
			"asset of a project outside":      with(draftOf("asset"), "generatedBy", "did:ixo:project/x"),
			"asset by its role, outside":      with(draftOf("asset"), "project", "did:ixo:project/x"),
			"project of somebody outside":     with(draftOf("project"), "implementedBy", "did:ixo:org/x"),
			"device of a project":             with(draftOf("clean-cooking"), "generatedBy", project.DID),
			"household in a project":          with(draftOf("household"), "partOf", project.DID),
			"household in a project, outside": with(draftOf("household"), "partOf", "did:ixo:project/x"),
		} {
			e := v.create(t, "ws", draft)
			if e.Status != entity.StatusActive || e.Project == "" {
				t.Errorf("%s is %s in %q, misses %v", name, e.Status, e.Project, e.MissingRelationships)
			}
			v.consistent(t, "ws", e.DID)
		}
		in := v.create(t, "ws", with(draftOf("household"), "partOf", v.create(t, "ws", draftOf("network")).DID))
		if in.Project != "" {
			t.Errorf("a household in a system belongs to %q, want no project", in.Project)
		}
	})
}

// The project of a twin follows its edges.
func TestProjectFollows(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		one, two := v.create(t, "ws", draftOf("project")).DID, v.create(t, "ws", draftOf("project")).DID
		device := v.create(t, "ws", with(draftOf("clean-cooking"), "project", one, "generatedBy", two, "partOf", v.create(t, "ws", draftOf("network")).DID))
		if device.Project != one {
			t.Errorf("project = %q, want the first", device.Project)
		}
		want(t, "leave the first", v.unrelate(t, "ws", device.DID, device.Relationships[0].ID), "")
		row, err := v.s.Find(as(t, "ws", "owner"), d, device.DID)
		if err != nil || row.Project != two || decode(t, row.Body).Project != two {
			t.Errorf("project = %q, %v, want the second", row.Project, err)
		}
		want(t, "leave the second from its side", v.unrelate(t, "ws", two, device.Relationships[1].ID), "")
		if e := v.get(t, "ws", device.DID); e.Project != "" || len(e.Relationships) != 1 {
			t.Errorf("project = %q with %d edges, want none and the system", e.Project, len(e.Relationships))
		}
		if n := v.count(t, `SELECT count(*) FROM entities WHERE ws = $1 AND project_key IS NULL AND domain_type = 'device'`); n != 1 {
			t.Errorf("%d devices without a project, want 1", n)
		}
	})
}

// An organisation is never without an active group.
func TestLastGroup(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org := v.create(t, "ws", draftOf("organisation"))
		group, rel := org.Relationships[0].Target, org.Relationships[0].ID
		for _, to := range []entity.Status{entity.StatusSuspended, entity.StatusCompleted, entity.StatusDeactivated} {
			want(t, "last group to "+string(to), v.transit(t, "ws", group, to), "ORGANISATION_REQUIRES_GROUP")
		}
		if w := v.send(t, "ws owner", "DELETE /v1/entities/"+group, "", "If-Match", `"1"`); w.Code != 409 || !strings.Contains(w.Body.String(), "ORGANISATION_REQUIRES_GROUP") {
			t.Errorf("DELETE of the last group = %d %s", w.Code, w.Body)
		}
		want(t, "take the last out, from above", v.unrelate(t, "ws", org.DID, rel), "ORGANISATION_REQUIRES_GROUP")
		want(t, "take the last out, from below", v.unrelate(t, "ws", group, rel), "ORGANISATION_REQUIRES_GROUP")
		second := v.create(t, "ws", draftOf("group"))
		if second.Status != entity.StatusDraft || !slices.Equal(second.MissingRelationships, []string{"partOf"}) {
			t.Errorf("a group of nobody is %s and misses %v", second.Status, second.MissingRelationships)
		}
		if _, err := v.relate(t, "ws", second.DID, "partOf", org.DID); err != nil {
			t.Fatal(err)
		}
		want(t, "a draft does not count", v.transit(t, "ws", group, entity.StatusDeactivated), "ORGANISATION_REQUIRES_GROUP")
		want(t, "activate", v.transit(t, "ws", second.DID, entity.StatusActive), "")
		want(t, "take an active group out", v.unrelate(t, "ws", org.DID, rel), "MISSING_RELATIONSHIPS")
		want(t, "the first may go now", v.transit(t, "ws", group, entity.StatusDeactivated), "")
		want(t, "and leave", v.unrelate(t, "ws", org.DID, rel), "")
		want(t, "the second is the last", v.transit(t, "ws", second.DID, entity.StatusDeactivated), "ORGANISATION_REQUIRES_GROUP")
		want(t, "the organisation goes", v.transit(t, "ws", org.DID, entity.StatusDeactivated), "")
		want(t, "and then its group", v.transit(t, "ws", second.DID, entity.StatusDeactivated), "")
		v.consistent(t, "ws", org.DID, group, second.DID)
		if _, err := v.relate(t, "ws", v.create(t, "ws", draftOf("network")).DID, "contains", group); err == nil {
			t.Error("a system contains a group, want it refused")
		}
	})
}

// A deactivated twin is read, and not changed.
func TestDeactivated(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		draft := draftOf("clean-cooking")
		draft.ExternalIDs, draft.Properties = map[string]string{"serial": "SN1"}, object(`{"serial":"SN1"}`)
		e := v.create(t, "ws", draft)
		path := "/v1/entities/" + e.DID
		if w := v.send(t, "ws owner", "DELETE "+path, ""); w.Code != 428 {
			t.Errorf("DELETE without If-Match = %d, want 428", w.Code)
		}
		if w := v.send(t, "ws owner", "DELETE "+path, "", "If-Match", `"7"`); w.Code != 412 {
			t.Errorf("DELETE with a stale tag = %d, want 412", w.Code)
		}
		w := v.send(t, "ws owner", "DELETE "+path+"?reason=sold", "", "If-Match", `"1"`)
		if w.Code != 200 || decode(t, w.Body.Bytes()).Status != entity.StatusDeactivated {
			t.Fatalf("DELETE = %d %s", w.Code, w.Body)
		}
		if row, err := v.s.Find(as(t, "ws", "owner"), d, e.DID); err != nil || row.Reason != "sold" || row.Action != "deactivate" {
			t.Errorf("row = %+v, %v", row, err)
		}
		for _, r := range []struct{ request, body string }{
			{"PATCH " + path, `{"type":"x"}`},
			{"PUT " + path, `{"type":"x","protocol":"did:ixo:protocol/clean-cooking"}`},
			{"POST " + path + "/transfer", `{"controller":"did:key:x"}`},
			{"POST " + path + "/verification", `{"status":"verified"}`},
			{"POST " + path + "/relationships", `{"role":"peer","target":"did:ixo:x:2"}`},
			{"PUT " + path + "/services/a", `{"type":"T","endpoint":"https://example.org/"}`},
			{"PUT " + path + "/properties/serial", `"x"`},
			{"PUT " + path + "/controllers/did:key:x", ""},
		} {
			if w := v.send(t, "ws owner", r.request, r.body, "If-Match", "*"); w.Code != 409 || !strings.Contains(w.Body.String(), "ENTITY_DEACTIVATED") {
				t.Errorf("%s = %d %s, want 409", r.request, w.Code, w.Body)
			}
		}
		if w := v.send(t, "ws owner", "DELETE "+path, "", "If-Match", "*"); w.Code != 409 {
			t.Errorf("DELETE again = %d, want 409", w.Code)
		}
		if n := v.indexed(t, e.DID); n != 1 {
			t.Errorf("%d entries in the index, want that it stays", n)
		}
		v.checkHistory(t, "ws", e.DID, 2)
	})
}

func TestVerification(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	e := v.create(t, "ws", draftOf("clean-cooking"))
	path := "/v1/entities/" + e.DID + "/verification"
	if w := v.send(t, "ws writer", "POST "+path, `{"status":"verified"}`); w.Code != 403 {
		t.Errorf("without the scope = %d, want 403", w.Code)
	}
	w := v.send(t, "ws second", "POST "+path, `{"status":"verified","evidence":"seen","reason":"visit"}`, "If-Match", `"1"`)
	got := decode(t, w.Body.Bytes())
	if w.Code != 200 || got.Verification.Status != "verified" || got.Verification.Verifier != "did:key:second" || got.Verification.Evidence != "seen" ||
		got.Verification.Timestamp.IsZero() || got.Revision != 2 || got.UpdatedBy != "did:key:second" {
		t.Errorf("verification = %d %s", w.Code, w.Body)
	}
	for _, body := range []string{`{}`, `{"status":"great"}`, `{"status":"verified","evidence":"` + strings.Repeat("x", 2001) + `"}`, `{"status":"verified","verifier":"did:key:x"}`} {
		if w := v.send(t, "ws second", "POST "+path, body); w.Code != 400 {
			t.Errorf("%.40s = %d, want 400", body, w.Code)
		}
	}
	if got.Verification.Revision != 1 {
		t.Errorf("the verdict is about revision %d, want 1", got.Verification.Revision)
	}
	v.checkHistory(t, "ws", e.DID, 2)
}

// A migration does not leave an active twin without what its new version needs.
func TestMigrationKeepsRelationships(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v, ctx := newEnv(t, d), as(t, "ws", "owner")
		kind := v.publish(t, "ws", `{"type":"Protocol","name":"meter","properties":{"name":"string"},"relationships":{}}`)
		if _, err := v.p.AddVersion(ctx, kind, []byte(`{"version":"2.0.0","relationships":{"operator":"OrganisationEntity"}}`)); err != nil {
			t.Fatal(err)
		}
		active, related, asleep := v.create(t, "ws", entity.Draft{Type: "Meter", Protocol: kind}), v.create(t, "ws", entity.Draft{Type: "Meter", Protocol: kind}),
			v.create(t, "ws", entity.Draft{Type: "Meter", Protocol: kind})
		if _, err := v.p.Publish(ctx, kind, "*", protocol.Change{}); err != nil {
			t.Fatal(err)
		}
		if _, err := v.relate(t, "ws", related.DID, "operator", v.create(t, "ws", draftOf("organisation")).DID); err != nil {
			t.Fatal(err)
		}
		want(t, "suspend", v.transit(t, "ws", asleep.DID, entity.StatusSuspended), "")
		migrate := func(id string) error {
			return d.InTx(ctx, func(tx *db.Tx) error {
				r, err := v.s.FindForUpdate(ctx, tx, id)
				if err != nil {
					return err
				}
				_, err = v.s.Mutate(ctx, tx, r, entity.Action{Name: "migrate"}, func(e *entity.Entity) error {
					e.ProtocolVersion = "2.0.0"
					return nil
				})
				return err
			})
		}
		want(t, "migrate an active twin", migrate(active.DID), "MISSING_RELATIONSHIPS")
		if e := v.get(t, "ws", active.DID); e.Revision != 1 || e.ProtocolVersion != active.ProtocolVersion {
			t.Errorf("refused twin = %+v, want it as it was", e)
		}
		want(t, "migrate a twin with its operator", migrate(related.DID), "")
		want(t, "migrate a suspended twin", migrate(asleep.DID), "")
		if e := v.get(t, "ws", asleep.DID); len(e.MissingRelationships) != 1 {
			t.Errorf("missing = %v, want the operator", e.MissingRelationships)
		}
		want(t, "wake it", v.transit(t, "ws", asleep.DID, entity.StatusActive), "MISSING_RELATIONSHIPS")
	})
}
