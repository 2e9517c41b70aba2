package entity_test

import (
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
)

// The members of a group may act as its organisation, so nobody puts a group of
// theirs into an organisation of somebody else.
func TestNobodyJoinsUninvited(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		org := v.create(t, "ws", draftOf("organisation"))
		members := org.Relationships[0].Target
		ctx := as(t, "ws", "writer")
		want(t, "new group in a foreign organisation", second(v.s.Create(ctx, with(draftOf("group"), "partOf", org.DID))), "NOT_CONTROLLER")
		want(t, "new group in a foreign group", second(v.s.Create(ctx, with(draftOf("group"), "partOf", members))), "NOT_CONTROLLER")
		mine := v.createAs(t, "ws", "writer", draftOf("group"))
		for _, target := range []string{org.DID, members} {
			want(t, "own group into "+target, second(v.s.Relate(ctx, mine.DID, entity.RelationDraft{Role: "partOf", Target: target})), "NOT_CONTROLLER")
			want(t, "from above", second(v.s.Relate(ctx, target, entity.RelationDraft{Role: "contains", Target: mine.DID})), "NOT_CONTROLLER")
		}
		if e := v.get(t, "ws", org.DID); e.Revision != 1 || v.get(t, "ws", mine.DID).Status != entity.StatusDraft {
			t.Errorf("the organisation is at revision %d, want 1", e.Revision)
		}
		// Whoever controls the organisation may invite it.
		want(t, "invited", second(v.s.Relate(as(t, "ws", "owner"), org.DID, entity.RelationDraft{Role: "contains", Target: mine.DID})), "")
		v.consistent(t, "ws", org.DID, mine.DID)
	})
}

// A DID that twins name as their controller is not there for the taking.
func TestNobodyTakesAControllersName(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	draft := draftOf("clean-cooking")
	draft.Controller = "did:ixo:org/stoves"
	v.create(t, "ws", draft)
	for _, kind := range []string{"organisation", "group"} {
		d := draftOf(kind)
		d.DID = "did:ixo:org/stoves"
		_, err := v.s.Create(as(t, "ws", "writer"), d)
		want(t, kind, err, "SCOPE_MISSING")
		if fieldsOf(err) != "/did scope_missing" {
			t.Errorf("fields = %s", fieldsOf(err))
		}
		if w := v.send(t, "ws writer", "PUT /v1/entities/did:ixo:org%2Fstoves", `{"type":"x","protocol":"did:ixo:protocol/`+kind+`"}`, "If-None-Match", "*"); w.Code != 403 {
			t.Errorf("PUT of %s = %d %s, want 403", kind, w.Code, w.Body)
		}
	}
	d := draftOf("clean-cooking")
	d.DID = "did:ixo:device/mine"
	v.createAs(t, "ws", "writer", d)
	d = draftOf("organisation")
	d.DID = "did:ixo:org/stoves"
	v.create(t, "ws", d)
}

// A group gives its scopes when it becomes active: whoever makes it so must
// have them.
func TestActivationGrants(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	draft := draftOf("group")
	draft.Properties = object(`{"name":"g","scopes":["entities:verify"]}`)
	draft.Controllers = []string{"did:key:owner", "did:key:writer"}
	g := v.create(t, "ws", draft)
	org := v.create(t, "ws", draftOf("organisation"))
	if _, err := v.relate(t, "ws", org.DID, "contains", g.DID); err != nil {
		t.Fatal(err)
	}
	want(t, "by one without", second(v.s.Transition(as(t, "ws", "writer"), g.DID, "", entity.Transition{To: entity.StatusActive})), "SCOPE_MISSING")
	want(t, "by one with", second(v.s.Transition(as(t, "ws", "owner"), g.DID, "", entity.Transition{To: entity.StatusActive})), "")
	want(t, "suspend", second(v.s.Transition(as(t, "ws", "writer"), g.DID, "", entity.Transition{To: entity.StatusSuspended})), "")
	want(t, "back by one without", second(v.s.Transition(as(t, "ws", "writer"), g.DID, "", entity.Transition{To: entity.StatusActive})), "SCOPE_MISSING")
}

// What is stored can be changed again: no value that is accepted breaks a later
// request.
func TestDeepAndLarge(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		e := v.create(t, "ws", draftOf("template"))
		path := "/v1/entities/" + e.DID
		nested := func(n int) string { return strings.Repeat(`{"a":`, n) + `1` + strings.Repeat(`}`, n) }
		for _, tt := range []struct {
			request, body string
			code          int
		}{
			{"PUT " + path + "/properties/measurements", nested(59), 201},
			{"PUT " + path + "/properties/measurements", nested(60), 400},
			{"PUT " + path + "/properties/measurements", nested(64), 400},
			{"PUT " + path + "/properties/measurements", nested(65), 400},
			{"PATCH " + path, `{"metadata":` + nested(60) + `}`, 200},
			{"PATCH " + path, `{"metadata":` + nested(61) + `}`, 400},
			{"PATCH " + path, `{"metadata":{"b":1}}`, 200},
			{"PATCH " + path, `{"metadata":{"name":"a\u0000b"}}`, 400},
			{"PATCH " + path, `{"metadata":{"name":"a\\u0000b"}}`, 200},
			{"PATCH " + path, `{"metadata":{"name":"` + strings.Repeat("€", 500) + `"}}`, 200},
			{"PATCH " + path, `{"properties":{"metricOne":"` + strings.Repeat("x", 256<<10) + `"}}`, 400},
			{"PATCH " + path, `{"properties":{"metricOne":"` + strings.Repeat("x", 200<<10) + `"}}`, 200},
			{"PATCH " + path, `{"linkedResources":[` + list(100, `{"id":"#%d","type":"t","proof":"`+strings.Repeat("x", 2000)+`","right":"`+strings.Repeat("x", 2000)+`"}`) + `]}`, 200},
			{"PATCH " + path, `{"accordedRights":[` + list(100, `{"id":"#%d","type":"t","message":"`+strings.Repeat("x", 2000)+`","service":"`+strings.Repeat("x", 2000)+`"}`) + `]}`, 400},
			{"PATCH " + path, `{"properties":null}`, 200},
		} {
			w := v.send(t, "ws owner", tt.request, tt.body, "If-Match", "*")
			if w.Code != tt.code {
				t.Errorf("%s %.60s = %d %.300s, want %d", tt.request, tt.body, w.Code, w.Body, tt.code)
			}
			record := v.send(t, "ws owner", "GET "+path, "")
			if w := v.send(t, "ws owner", "PUT "+path, record.Body.String(), "If-Match", "*"); w.Code != 200 {
				t.Fatalf("after %s %.60s the record cannot be put back: %d %.300s", tt.request, tt.body, w.Code, w.Body)
			}
			if w := v.send(t, "ws owner", "PATCH "+path, `{"metadata":{"touched":true}}`, "If-Match", "*"); w.Code != 200 {
				t.Fatalf("after %s %.60s the record cannot be changed: %d %.300s", tt.request, tt.body, w.Code, w.Body)
			}
		}
		row, err := v.s.Find(as(t, "ws", "owner"), d, e.DID)
		if err != nil || len(row.Name) > 200 || len(row.Name) < 190 || !strings.HasPrefix(row.Name, "€€") {
			t.Errorf("name = %q, %v, want the beginning in whole characters", row.Name, err)
		}
	})
}

// Drafts that no request could carry are refused all the same: imports and
// other packages make them too.
func TestDraftsFromCode(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		for name, change := range map[string]func(*entity.Draft){
			"NUL in a property":      func(d *entity.Draft) { d.Properties = object(`{"metricOne":"a\u0000"}`) },
			"broken properties":      func(d *entity.Draft) { d.Properties = object(`{"metricOne":`) },
			"twice the same":         func(d *entity.Draft) { d.Properties = object(`{"metricOne":"a","metricOne":"b"}`) },
			"NUL in the type":        func(d *entity.Draft) { d.Type = "a\x00b" },
			"no UTF-8 in the type":   func(d *entity.Draft) { d.Type = "a\xff" },
			"no UTF-8 in the object": func(d *entity.Draft) { d.Metadata = object("{\"a\":\"\xff\"}") },
			"no UTF-8 in a scheme":   func(d *entity.Draft) { d.ExternalIDs = map[string]string{"\xff": "x"} },
			"NUL in an external id":  func(d *entity.Draft) { d.ExternalIDs = map[string]string{"x": "\x00"} },
			"NUL in a description": func(d *entity.Draft) {
				d.LinkedResources = []entity.LinkedResource{{ID: "#a", Type: "t", Description: "\x00"}}
			},
			"NUL in an alias":   func(d *entity.Draft) { d.AlsoKnownAs = []string{"\x00"} },
			"101 relationships": func(d *entity.Draft) { d.Relationships = make([]entity.RelationDraft, 101) },
			"21 groups":         func(d *entity.Draft) { d.Groups = make([]entity.GroupDraft, 21) },
		} {
			draft := draftOf("template")
			change(&draft)
			want(t, name, second(v.s.Create(as(t, "ws", "owner"), draft)), "ENTITY_INVALID")
		}
		if n := v.newest(t, "ws"); n != 0 {
			t.Errorf("%d events", n)
		}
	})
}

// A twin and a protocol of one workspace have different DIDs.
func TestProtocolUnderTheDIDOfATwin(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		e := v.create(t, "ws", draftOf("template"))
		body := `{"type":"Protocol","did":"` + e.DID + `","name":"x","properties":{},"relationships":{}}`
		if w := v.send(t, "ws owner", "POST /v1/protocols", body); w.Code != 409 || !strings.Contains(w.Body.String(), "PROTOCOL_EXISTS") {
			t.Errorf("in its workspace = %d %s, want 409", w.Code, w.Body)
		}
		if w := v.send(t, "other owner", "POST /v1/protocols", body); w.Code != 201 {
			t.Errorf("in another = %d %s, want 201", w.Code, w.Body)
		}
	})
}
