package entity_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestPatch(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		draft := draftOf("clean-cooking")
		draft.Properties = object(`{"serial":"SN1","model":"M1","efficiency":40}`)
		draft.ExternalIDs = map[string]string{"serial": "SN1", "crm": "7"}
		draft.Metadata = object(`{"name":"Stove","tags":["a"]}`)
		e := v.create(t, "ws", draft)
		ctx := as(t, "ws", "owner")
		row, err := v.s.Patch(ctx, e.DID, `"1"`, entity.Change{
			Reason: "new plate",
			Merge: []byte(`{"type":"Stove","properties":{"serial":"SN2","model":null},"externalIds":{"serial":"SN2","crm":null},
				"metadata":{"tags":["b"]},"startDate":"2026-01-01T00:00:00Z","services":[{"id":"#a","type":"T","endpoint":"mqtts://h:8883/t"}]}`),
		})
		if err != nil {
			t.Fatalf("%+v", fault.As(err))
		}
		got := decode(t, row.Body)
		if got.Type != "Stove" || string(got.Properties.Value) != `{"serial":"SN2","efficiency":40}` || got.ExternalIDs["serial"] != "SN2" || len(got.ExternalIDs) != 1 ||
			string(got.Metadata.Value) != `{"name":"Stove","tags":["b"]}` || got.Services[0].ID != "#a" || got.Revision != 2 || !got.Created.Equal(e.Created) {
			t.Errorf("record = %s", row.Body)
		}
		if row.Name != "Stove" || row.Reason != "new plate" || row.Action != "update" || row.Type != "Stove" {
			t.Errorf("row = %+v", row)
		}
		if n := v.indexed(t, e.DID); n != 1 {
			t.Errorf("%d entries in the property index, want the serial", n)
		}
		if n := v.count(t, `SELECT count(*) FROM entity_externals WHERE ws = $1`); n != 1 {
			t.Errorf("%d external ids, want 1", n)
		}
		// The freed name can be taken, the new one cannot.
		again := draftOf("clean-cooking")
		again.ExternalIDs = map[string]string{"serial": "SN1"}
		v.create(t, "ws", again)
		again.ExternalIDs = map[string]string{"serial": "SN2", "other": "SN2"}
		_, err = v.s.Create(ctx, again)
		want(t, "a name that is taken", err, "EXTERNAL_ID_EXISTS")
		if fieldsOf(err) != "/externalIds/serial exists" {
			t.Errorf("fields = %s", fieldsOf(err))
		}
		want(t, "take a name by patch", second(v.s.Patch(ctx, e.DID, "*", entity.Change{Merge: []byte(`{"externalIds":{"serial":"SN1"}}`)})), "EXTERNAL_ID_EXISTS")
		v.checkHistory(t, "ws", e.DID, 2)
	})
}

func TestPatchRefusals(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	e := v.create(t, "ws", draftOf("clean-cooking"))
	long := strings.Repeat("x", 1001)
	for _, tt := range []struct {
		name, ifMatch, merge, reason, code, fields string
	}{
		{"no tag", "", `{}`, "", "PRECONDITION_REQUIRED", "header/If-Match required"},
		{"stale tag", `"2"`, `{}`, "", "STALE_REVISION", "header/If-Match stale"},
		{"weak tag", `W/"1"`, `{}`, "", "STALE_REVISION", "header/If-Match stale"},
		{"broken tag", `1`, `{}`, "", "INVALID_PARAMETER", "header/If-Match invalid"},
		{"no object", "*", `[]`, "", "ENTITY_INVALID", " wrong_type"},
		{"null", "*", `null`, "", "ENTITY_INVALID", " wrong_type"},
		{"no JSON", "*", `{`, "", "MALFORMED_JSON", " syntax"},
		{"twice the same member", "*", `{"type":"a","type":"b"}`, "", "DUPLICATE_MEMBER", "/type duplicate"},
		{
			"all properties at once", "*", `{"properties":{"serial":1,"efficiency":101,"x":1}}`, "", "PROPERTY_SCHEMA_VIOLATION",
			"/properties/efficiency out_of_range, /properties/serial wrong_type, /properties/x unknown_property",
		},
		{
			"properties and the rest at once", "*", `{"properties":{"efficiency":500,"fuel_type":3,"nope":1},"metadata":5,"services":[{"id":"x"}]}`, "", "ENTITY_INVALID",
			"/metadata wrong_type, /services/0/id invalid, /services/0/type required, /services/0/endpoint required, " +
				"/properties/efficiency out_of_range, /properties/fuel_type wrong_type, /properties/nope unknown_property",
		},
		{
			"members of the server and all else at once", "*", `{"status":"completed","colour":1,"startDate":"x","controllers":["bob",7],"metadata":5,"properties":{"nope":1e400}}`, "", "UNKNOWN_MEMBER",
			"/colour unknown, /status read_only, /controllers/1 wrong_type, /startDate wrong_type, /controllers/0 not_a_did, /metadata wrong_type, /properties/nope out_of_range",
		},
		{"properties that stay are not checked again", "*", `{"metadata":5,"properties":{}}`, "", "ENTITY_INVALID", "/metadata wrong_type"},
		{"a controller", "*", `{"controller":"bob"}`, "", "ENTITY_INVALID", "/controller not_a_did"},
		{"controllers", "*", `{"controllers":["did:key:a","bob"]}`, "", "ENTITY_INVALID", "/controllers/1 not_a_did"},
		{"controllers of the wrong type", "*", `{"controllers":7}`, "", "WRONG_TYPE", "/controllers wrong_type"},
		{
			"numbers no number can be", "*", `{"properties":{"efficiency":1e400,"serial":[{"a":-1e999}],"x":1}}`, "", "PROPERTY_SCHEMA_VIOLATION",
			"/properties/efficiency out_of_range, /properties/serial/0/a out_of_range, /properties/x unknown_property",
		},
		{"properties gone", "*", `{"properties":null}`, "", "", ""},
		{"metadata is a text", "*", `{"metadata":"x"}`, "", "ENTITY_INVALID", "/metadata wrong_type"},
		{"date", "*", `{"startDate":"yesterday"}`, "", "WRONG_TYPE", "/startDate wrong_type"},
		{"no controllers", "*", `{"controllers":[]}`, "", "ENTITY_INVALID", "/controller required"},
		{"long reason", "*", `{"type":"x"}`, long, "ENTITY_INVALID", "/reason too_long"},
		{"reason of two lines", "*", `{"type":"x"}`, "a\nb", "ENTITY_INVALID", "/reason not_one_line"},
		{"too many controllers", "*", `{"controllers":[` + list(21, `"did:key:k%d"`) + `]}`, "", "ENTITY_INVALID", "/controllers too_many"},
		{"too many services", "*", `{"services":[` + list(101, `{"id":"#s%d","type":"T","endpoint":"https://example.org/"}`) + `]}`, "", "ENTITY_INVALID", "/services too_many"},
		{"too many external ids", "*", `{"externalIds":{` + list(21, `"k%d":"v"`) + `}}`, "", "ENTITY_INVALID", "/externalIds too_many"},
		{"large metadata", "*", `{"metadata":{"x":"` + strings.Repeat("x", 64<<10) + `"}}`, "", "ENTITY_INVALID", "/metadata too_large"},
	} {
		_, err := v.s.Patch(as(t, "ws", "owner"), e.DID, tt.ifMatch, entity.Change{Merge: []byte(tt.merge), Reason: tt.reason})
		want(t, tt.name, err, tt.code)
		if got := fieldsOf(err); got != tt.fields {
			t.Errorf("%s: fields = %s\nwant %s", tt.name, got, tt.fields)
		}
	}
	if got := v.get(t, "ws", e.DID); got.Revision != 1 {
		t.Errorf("revision %d, want 1: nothing has changed", got.Revision)
	}
}

// list writes a format n times, each with its number.
func list(n int, format string) string {
	parts := make([]string, n)
	for i := range parts {
		parts[i] = fmt.Sprintf(format, i)
	}
	return strings.Join(parts, ",")
}

// A change that changes nothing makes no revision and no event.
func TestNoChange(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		draft := draftOf("clean-cooking")
		draft.Properties = object(`{"serial":"SN1"}`)
		e := v.create(t, "ws", draft)
		mark := v.newest(t, "ws")
		path := "/v1/entities/" + e.DID
		body := v.send(t, "ws owner", "GET "+path, "").Body.String()
		for _, r := range []struct{ request, body string }{
			{"PATCH " + path, `{}`},
			{"PATCH " + path, `{"properties":{"serial":"SN1"},"status":"active","revision":1}`},
			{"PUT " + path, body},
			{"PUT " + path + "/properties/serial", `"SN1"`},
			{"PUT " + path + "/controllers/did:key:owner", ""},
		} {
			w := v.send(t, "ws owner", r.request, r.body, "If-Match", `"1"`)
			if w.Code != 200 || w.Header().Get("ETag") != `"1"` {
				t.Errorf("%s = %d %s", r.request, w.Code, w.Body)
			}
		}
		if n := v.newest(t, "ws"); n != mark {
			t.Errorf("%d events for nothing", n-mark)
		}
	})
}

// PUT replaces all a client decides, and creates under a DID of the client's.
func TestPut(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		path := "/v1/entities/did:ixo:device%2F7"
		const body = `{"type":"Stove","protocol":"did:ixo:protocol/clean-cooking","properties":{"serial":"SN7"},"externalIds":{"crm":"7"},"relationships":[{"role":"peer","target":"did:ixo:x:1"}]}`
		if w := v.send(t, "ws owner", "PUT "+path, body); w.Code != 428 {
			t.Errorf("PUT without a condition = %d, want 428", w.Code)
		}
		if w := v.send(t, "ws owner", "PUT "+path, body, "If-Match", "*"); w.Code != 404 {
			t.Errorf("PUT of nothing = %d, want 404", w.Code)
		}
		if w := v.send(t, "ws owner", "PUT "+path, body, "If-None-Match", `"1"`); w.Code != 400 {
			t.Errorf("If-None-Match with a tag = %d, want 400", w.Code)
		}
		if w := v.send(t, "ws owner", "PUT "+path, `{"did":"did:ixo:device/8","type":"x","protocol":"did:ixo:protocol/clean-cooking"}`, "If-None-Match", "*"); w.Code != 400 {
			t.Errorf("another DID in the body = %d, want 400", w.Code)
		}
		w := v.send(t, "ws owner", "PUT "+path, body, "If-None-Match", "*")
		if w.Code != 201 || w.Header().Get("Location") != path || w.Header().Get("ETag") != `"1"` {
			t.Fatalf("create = %d %v %s", w.Code, w.Header(), w.Body)
		}
		if w := v.send(t, "ws owner", "PUT "+path, body, "If-None-Match", "*"); w.Code != 412 || !strings.Contains(w.Body.String(), "ENTITY_EXISTS") {
			t.Errorf("create again = %d %s, want 412", w.Code, w.Body)
		}
		record := v.send(t, "ws owner", "GET "+path, "").Body.String()
		changed := strings.Replace(record, `"serial":"SN7"`, `"model":"M2"`, 1)
		w = v.send(t, "ws owner", "PUT "+path+"?reason=edited", changed, "If-Match", `"1"`)
		if e := decode(t, w.Body.Bytes()); w.Code != 200 || string(e.Properties.Value) != `{"model":"M2"}` || e.ExternalIDs["crm"] != "7" || len(e.Relationships) != 1 {
			t.Errorf("replace by the edited record = %d %s", w.Code, w.Body)
		}
		w = v.send(t, "ws owner", "PUT "+path, `{"type":"Lamp","protocol":"did:ixo:protocol/clean-cooking@1.1.0"}`, "If-Match", `"2"`)
		if e := decode(t, w.Body.Bytes()); w.Code != 200 || e.Type != "Lamp" || string(e.Properties.Value) != `{}` || len(e.ExternalIDs) != 0 ||
			len(e.Relationships) != 1 || e.Controller != "did:key:owner" {
			t.Errorf("replace by a draft = %d %s", w.Code, w.Body)
		}
		for _, bad := range []string{
			`{"type":"Lamp"}`, `{"type":"Lamp","protocol":"did:ixo:protocol/asset"}`, `{"type":"Lamp","protocol":"did:ixo:protocol/clean-cooking","protocolVersion":"2.0.0"}`,
			`{"type":"Lamp","protocol":"did:ixo:protocol/clean-cooking","relationships":[{"role":"peer","target":"did:ixo:x:2"}]}`,
			`{"type":"Lamp","protocol":"did:ixo:protocol/clean-cooking","relationships":[]}`,
			`{"type":"Lamp","protocol":"did:ixo:protocol/clean-cooking","groups":[{"name":"x"}]}`,
			`{"type":"Lamp","protocol":"did:ixo:protocol/clean-cooking","did":"did:ixo:device/8"}`,
		} {
			if w := v.send(t, "ws owner", "PUT "+path, bad, "If-Match", "*"); w.Code != 400 || !strings.Contains(w.Body.String(), "READ_ONLY_MEMBER") {
				t.Errorf("PUT %s = %d %s, want 400", bad, w.Code, w.Body)
			}
		}
		v.checkHistory(t, "ws", "did:ixo:device/7", 3)
	})
}

// Controllers by patch: the controller is the first of all.
func TestPatchControllers(t *testing.T) {
	t.Parallel()
	v := newEnv(t, dbtest.SQLite(t))
	for _, tt := range []struct{ merge, want string }{
		{`{"controller":"did:key:b"}`, "did:key:b did:key:2"},
		{`{"controllers":["did:key:b"]}`, "did:key:b"},
		{`{"controllers":["did:key:b","did:key:b","did:key:owner"]}`, "did:key:b did:key:owner"},
		{`{"controller":"did:key:c","controllers":["did:key:b"]}`, "did:key:c did:key:b"},
		{`{"controller":"did:key:2"}`, "did:key:2"},
	} {
		d := draftOf("clean-cooking")
		d.Controllers = []string{"did:key:owner", "did:key:2"}
		e := v.create(t, "ws", d)
		row, err := v.s.Patch(as(t, "ws", "owner"), e.DID, "*", entity.Change{Merge: []byte(tt.merge)})
		if err != nil {
			t.Fatalf("%s: %+v", tt.merge, fault.As(err))
		}
		got := decode(t, row.Body)
		if strings.Join(got.Controllers, " ") != tt.want || got.Controller != got.Controllers[0] {
			t.Errorf("%s gives %v with %s first, want %s", tt.merge, got.Controllers, got.Controller, tt.want)
		}
	}
}

// PatchTx and StoreTx work inside a transaction with others, all or nothing.
func TestInOneTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		project := v.create(t, "ws", draftOf("project"))
		broken := errors.New("broken")
		run := func(end error) (ids []string, err error) {
			var list []*entity.Prepared
			for range 3 {
				p, err := v.s.Prepare(ctx, with(draftOf("clean-cooking"), "generatedBy", project.DID))
				if err != nil {
					t.Fatal(err)
				}
				list = append(list, p)
			}
			// The second names the first, which is not stored yet.
			p, err := v.s.Prepare(ctx, with(draftOf("clean-cooking"), "peer", list[0].DID()))
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, p)
			for _, end := range []error{broken, end} { // what was taken back can be stored again
				err = d.InTx(ctx, func(tx *db.Tx) error {
					ids = nil
					for _, p := range list {
						r, err := v.s.StoreTx(ctx, tx, p)
						if err != nil {
							return err
						}
						ids = append(ids, r.DID)
					}
					if _, err := v.s.PatchTx(ctx, tx, ids[0], `"1"`, entity.Change{Merge: []byte(`{"type":"x"}`)}); err != nil {
						return err
					}
					return end
				})
			}
			return ids, err
		}
		if _, err := run(broken); !errors.Is(err, broken) {
			t.Fatal(err)
		}
		if n := v.count(t, `SELECT count(*) FROM entities WHERE ws = $1`); n != 1 {
			t.Errorf("%d twins after a rollback, want the project", n)
		}
		ids, err := run(nil)
		if err != nil {
			t.Fatal(err)
		}
		if e := v.get(t, "ws", ids[3]); e.Relationships[0].External {
			t.Errorf("edge to a twin of the same transaction = %+v, want it held here", e.Relationships[0])
		}
		v.consistent(t, "ws", append(ids, project.DID)...)
	})
}

// Mutate is the one way to a new revision, for whoever has other rules.
func TestMutate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		now := time.Date(2026, 1, 1, 0, 0, 10, 0, time.UTC)
		v := newEnv(t, d, func(c *entity.Config) { c.Now = func() time.Time { return now } })
		ctx := as(t, "ws", "owner")
		draft := draftOf("clean-cooking")
		draft.Properties, draft.ExternalIDs = object(`{"serial":"SN1","model":"M1"}`), map[string]string{"a": "b"}
		e := v.create(t, "ws", draft)
		mutate := func(act entity.Action, fn func(*entity.Entity)) (*entity.Row, error) {
			return call(v, func(tx *db.Tx) (*entity.Row, error) {
				r, err := v.s.FindForUpdate(ctx, tx, e.DID)
				if err != nil {
					return nil, err
				}
				return v.s.Mutate(ctx, tx, r, act, func(e *entity.Entity) error { fn(e); return nil })
			})
		}
		now = now.Add(-5 * time.Second) // the clock steps back
		row, err := mutate(entity.Action{Name: "sync", Event: "entity.updated"}, func(e *entity.Entity) {
			e.DID, e.Revision, e.Created, e.CreatedBy, e.Protocol = "did:key:x", 99, now, "x", "did:ixo:protocol/asset"
			e.Properties = object(`{"serial":"SN2"}`)
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := decode(t, row.Body); got.DID != e.DID || got.Revision != 2 || !got.Created.Equal(e.Created) || got.CreatedBy != e.CreatedBy ||
			got.Protocol != e.Protocol || got.Updated.Before(e.Updated) {
			t.Errorf("record = %s", row.Body)
		}
		_, err = mutate(entity.Action{Name: "sync"}, func(e *entity.Entity) { e.Properties = object(`{"nonsense":1}`) })
		want(t, "against the protocol", err, "PROPERTY_SCHEMA_VIOLATION")
		row, err = mutate(entity.Action{Name: "erased", Event: "entity.erased"}, func(e *entity.Entity) {
			e.Type, e.Status, e.Properties, e.ExternalIDs, e.Metadata = "Erased", entity.StatusDeactivated, object(`{}`), nil, object(`{}`)
		})
		if err != nil || row.Type != "Erased" || row.Status != entity.StatusDeactivated || row.Name != "" {
			t.Fatalf("erased = %+v, %v", row, err)
		}
		if n := v.indexed(t, e.DID) + v.count(t, `SELECT count(*) FROM entity_externals WHERE ws = $1`); n != 0 {
			t.Errorf("%d entries of an erased twin are left", n)
		}
		row, err = mutate(entity.Action{Name: "again"}, func(e *entity.Entity) { e.Type = "Twice" })
		if err != nil || row.Revision != 4 {
			t.Errorf("a deactivated twin = %+v, %v, want revision 4", row, err)
		}
		var types []string
		for _, it := range v.events(t, "ws", 0) {
			types = append(types, it.Type)
		}
		if !slices.Equal(types, []string{"entity.created", "entity.updated", "entity.erased", "entity.updated"}) {
			t.Errorf("events = %v", types)
		}
		v.checkHistory(t, "ws", e.DID, 4)
		// A row that was read before somebody else's change is too old.
		old, err := v.s.Find(ctx, d, e.DID)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := mutate(entity.Action{Name: "x"}, func(e *entity.Entity) { e.Type = "x" }); err != nil {
			t.Fatal(err)
		}
		_, err = call(v, func(tx *db.Tx) (*entity.Row, error) {
			return v.s.Mutate(ctx, tx, old, entity.Action{Name: "y"}, func(e *entity.Entity) error { e.Type = "y"; return nil })
		})
		want(t, "an old row", err, "STALE_REVISION")
	})
}

// A twin moves to another version of its protocol: what it misses and what is
// indexed are found anew.
func TestMutateToAnotherVersion(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newEnv(t, d)
		ctx := as(t, "ws", "owner")
		id := v.publish(t, "ws", `{"type":"Protocol","name":"p","properties":{"a":{"type":"string","indexed":true},"b":"string"},"relationships":{}}`)
		e := v.create(t, "ws", entity.Draft{Type: "x", Protocol: id, Properties: object(`{"a":"1","b":"2"}`)})
		if _, err := v.p.AddVersion(ctx, id, []byte(`{"version":"2.0.0","properties":{"a":"string","b":{"type":"string","indexed":true}},"relationships":{"operator":"OrganisationEntity"}}`)); err != nil {
			t.Fatalf("%+v", fault.As(err))
		}
		if _, err := v.p.Publish(ctx, id, "*", protocol.Change{Version: "2.0.0"}); err != nil {
			t.Fatalf("%+v", fault.As(err))
		}
		want(t, "suspend", v.transit(t, "ws", e.DID, entity.StatusSuspended), "") // an active one may miss nothing
		row, err := call(v, func(tx *db.Tx) (*entity.Row, error) {
			r, err := v.s.FindForUpdate(ctx, tx, e.DID)
			if err != nil {
				return nil, err
			}
			return v.s.Mutate(ctx, tx, r, entity.Action{Name: "migrate"}, func(e *entity.Entity) error { e.ProtocolVersion = "2.0.0"; return nil })
		})
		if err != nil {
			t.Fatal(err)
		}
		got := decode(t, row.Body)
		if row.ProtocolVersion != "2.0.0" || !slices.Equal(got.MissingRelationships, []string{"operator"}) || got.Status != entity.StatusSuspended {
			t.Errorf("record = %s", row.Body)
		}
		for name, want := range map[string]int{"a": 0, "b": 1} {
			var n int
			if err := d.QueryRow(t.Context(), `SELECT count(*) FROM entity_props WHERE pid = $1 AND nid = $2`, entity.PropID("ws", id, name), row.NID).Scan(&n); err != nil || n != want {
				t.Errorf("%d entries of %s, %v, want %d", n, name, err, want)
			}
		}
	})
}
