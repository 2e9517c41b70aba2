package group_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

const (
	amina  = "did:ixo:entity:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
	baraka = "did:ixo:entity:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"
)

// rig is a registry with groups, and keys that take their rights from them.
type rig struct {
	d        *db.DB
	events   *event.Log
	auth     *auth.Service
	entities *entity.Service
	groups   *group.Service
	speakers *group.Speakers
	handler  http.Handler // behind real keys
	keys     map[string]string
}

func newRig(t testing.TB, d *db.DB) *rig {
	t.Helper()
	r := &rig{d: d, keys: map[string]string{}}
	cursors := eventtest.Cursors()
	r.events = event.New(event.Config{DB: d, Cursors: cursors})
	r.auth = auth.New(auth.Config{DB: d, Cursors: cursors, Groups: group.ScopesOf, Log: dbtest.Log(t)})
	protocols := protocol.New(protocol.Config{DB: d, Events: r.events, Cursors: cursors})
	r.speakers = &group.Speakers{
		Held: r.auth.HeldBy, Minted: r.auth.Minted, RightsOf: r.auth.RightsOf, RightsChanged: r.auth.RightsChanged, Oracle: "did:ixo:entity:00000000000000000000000000000001", Now: time.Now,
	}
	r.entities = entity.New(entity.Config{
		DB: d, Protocols: protocols, Events: r.events, Cursors: cursors, ControlsAs: group.ControlsAs, GroupChanged: r.auth.RightsChanged,
		Speakers: r.speakers,
	})
	r.groups = group.New(group.Config{DB: d, Entities: r.entities, Events: r.events, Cursors: cursors, Speakers: r.speakers, Changed: r.auth.RightsChanged})
	a := web.NewAPI(web.APIConfig{Name: "groups", Gate: r.auth, Log: dbtest.Log(t)})
	r.entities.Routes(a)
	r.groups.Routes(a)
	r.auth.Routes(a)
	r.handler = web.WithRequestIDs(web.Proxies{}.Middleware(webtest.Handler(t, a)))
	if _, err := r.auth.Bootstrap(t.Context(), strings.Repeat("owner", 8)); err != nil {
		t.Fatal(err)
	}
	r.keys["owner"] = strings.Repeat("owner", 8)
	return r
}

// owner is the context of the workspace's owner.
func (r *rig) owner(t testing.TB) context.Context {
	t.Helper()
	ctx, err := r.auth.AsOwner(t.Context(), auth.OperatorWorkspace)
	if err != nil {
		t.Fatal(err)
	}
	return ctx
}

// as is the context of somebody with some scopes.
func (r *rig) as(t testing.TB, id string, scopes ...string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), web.Caller{Workspace: auth.OperatorWorkspace, DID: id, Key: "key_" + id, Scopes: scopes})
}

// employ is the context of somebody who has a key with some scopes.
func (r *rig) employ(t testing.TB, id string, scopes ...string) context.Context {
	t.Helper()
	k, err := r.auth.Create(r.owner(t), auth.Draft{Name: id, Scopes: scopes, Principal: id})
	if err != nil {
		t.Fatal(err)
	}
	r.keys[id] = k.ID
	return web.WithCaller(t.Context(), web.Caller{Workspace: auth.OperatorWorkspace, DID: id, Key: k.ID, Scopes: scopes})
}

// dismiss ends the key of somebody who was employed.
func (r *rig) dismiss(t testing.TB, id string) {
	t.Helper()
	if _, err := r.auth.Revoke(r.owner(t), r.keys[id], ""); err != nil {
		t.Fatal(err)
	}
}

// give changes what a group gives, as the owner.
func (r *rig) give(t testing.TB, g string, scopes ...string) {
	t.Helper()
	text, err := json.Marshal(map[string]any{"name": "g", "scopes": scopes})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.entities.Patch(r.owner(t), g, "*", entity.Change{Edit: func(e *entity.Entity) error {
		e.Properties = object(string(text))
		return nil
	}}); err != nil {
		t.Fatal(err)
	}
}

// key makes a key under a name.
func (r *rig) key(t testing.TB, name string, d auth.Draft) {
	t.Helper()
	d.Name = name
	k, err := r.auth.Create(r.owner(t), d)
	if err != nil {
		t.Fatalf("Create(%+v) = %v", d, err)
	}
	r.keys[name] = k.Text
}

// create makes a twin as somebody.
func (r *rig) create(ctx context.Context, t testing.TB, d entity.Draft) string {
	t.Helper()
	a, err := r.entities.Create(ctx, d)
	if err != nil {
		t.Fatalf("Create(%+v) = %v", d, err)
	}
	var e entity.Entity
	if err := json.Unmarshal(a.Raw, &e); err != nil {
		t.Fatal(err)
	}
	return e.DID
}

// organisation makes one of the owner's, with others who control it.
func (r *rig) organisation(t testing.TB, controllers ...string) string {
	t.Helper()
	ctx := r.owner(t)
	return r.create(ctx, t, entity.Draft{
		Type: "Organisation", Protocol: "did:ixo:protocol/organisation", Properties: object(`{"name":"Stoves"}`),
		Controllers: append([]string{web.CallerFrom(ctx).DID}, controllers...),
	})
}

// make makes a group as the owner.
func (r *rig) make(t testing.TB, in string, d group.Draft) string {
	t.Helper()
	g, err := r.groups.Create(r.owner(t), in, d)
	if err != nil {
		t.Fatalf("Create(%+v) = %v", d, err)
	}
	return g.Value.DID
}

// add adds a member as the owner.
func (r *rig) add(t testing.TB, in, member string) {
	t.Helper()
	if _, err := r.groups.Add(r.owner(t), in, member, nil); err != nil {
		t.Fatalf("Add(%s) = %v", member, err)
	}
}

// move takes a twin to a status as the owner.
func (r *rig) move(t testing.TB, id string, to entity.Status) {
	t.Helper()
	if err := r.tryMove(r.owner(t), id, to); err != nil {
		t.Fatalf("transition of %s to %s: %v", id, to, err)
	}
}

func (r *rig) tryMove(ctx context.Context, id string, to entity.Status) error {
	return r.d.InTx(ctx, func(tx *db.Tx) error {
		_, err := r.entities.TransitionTx(ctx, tx, id, "", entity.Transition{To: to})
		return err
	})
}

// scopes are what a member has in the operator's workspace.
func (r *rig) scopes(t testing.TB, member string) string {
	t.Helper()
	s, err := group.ScopesOf(t.Context(), r.d, web.Caller{Workspace: auth.OperatorWorkspace, DID: member})
	if err != nil {
		t.Fatal(err)
	}
	return strings.Join(s, " ")
}

// send sends a request with a key.
func (r *rig) send(key, method, path, body string, header ...string) *httptest.ResponseRecorder {
	q := httptest.NewRequest(method, path, strings.NewReader(body))
	q.Header.Set("Authorization", "Bearer "+r.keys[key])
	if body != "" {
		q.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(header); i += 2 {
		q.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	r.handler.ServeHTTP(w, q)
	return w
}

func path(format string, ids ...any) string {
	for i, id := range ids {
		ids[i] = url.PathEscape(fmt.Sprint(id))
	}
	return fmt.Sprintf(format, ids...)
}

func object(text string) entity.Object { return entity.Object{Value: []byte(text)} }

func wantCode(t testing.TB, what string, err error, code string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code || code == "" && err != nil {
		t.Errorf("%s: got %q (%v), want %q", what, got, err, code)
	}
}

func wantStatus(t testing.TB, what string, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	if w.Code != status || code != "" && !strings.Contains(w.Body.String(), `"code":"`+code+`"`) {
		t.Errorf("%s: got %d %s, want %d %s", what, w.Code, w.Body, status, code)
	}
}
