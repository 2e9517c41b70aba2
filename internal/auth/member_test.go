package auth_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const amina = "did:ixo:entity:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"

// groups stands for the groups of area A: who is given what.
type groups struct {
	mu   sync.Mutex
	give map[string][]string // workspace and member → scopes
	err  error
}

func (g *groups) set(workspace, member string, scopes ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.give == nil {
		g.give = map[string][]string{}
	}
	g.give[workspace+" "+member] = scopes
}

func (g *groups) fail(err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.err = err
}

func (g *groups) scopes(_ context.Context, _ db.Querier, c web.Caller) ([]string, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.give[c.Workspace+" "+c.Speaker()], g.err
}

func withGroups(g *groups) func(*auth.Config) {
	return func(c *auth.Config) { c.Groups = g.scopes }
}

// TestMemberKey: a member key has what the groups give at each request.
func TestMemberKey(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var g groups
		h := newHouse(t, d, withGroups(&g))
		h.make(t, "amina", "default", auth.Draft{Name: "Amina", Role: "member", Principal: amina})
		ask := func(path string) int { return h.do(call{path: path, key: h.keys["amina"]}).Code }
		if got := ask("/v1/signed"); got != 200 {
			t.Errorf("who she is = %d, want 200 without any scope", got)
		}
		want(t, h.do(call{path: "/v1/entities", key: h.keys["amina"]}), 403, "SCOPE_MISSING")
		g.set("default", amina, "entities:write")
		g.set("kitui", amina, "*") // another workspace is another matter
		if got := ask("/v1/entities"); got != 403 {
			t.Errorf("before anybody says that groups have changed: %d, want what is cached", got)
		}
		auth.Announce(h.svc)
		if a, b := ask("/v1/entities"), ask("/v1/operate"); a != 200 || b != 403 {
			t.Errorf("with entities:write: %d and %d, want 200 and 403", a, b)
		}
		g.set("default", amina)
		auth.Announce(h.svc)
		if got := ask("/v1/entities"); got != 403 {
			t.Errorf("after she was taken out = %d, want 403 at once", got)
		}
		k, err := h.svc.Get(h.as(t, "default"), h.ids["amina"])
		if err != nil || !slices.Equal(k.Scopes, []string{"member"}) {
			t.Errorf("record = %+v, %v, want the word member for scopes", k, err)
		}
		g.fail(errors.New("no store"))
		h.svc.Flush()
		want(t, h.do(call{path: "/v1/signed", key: h.keys["amina"]}), 500, "INTERNAL")
		want(t, h.do(call{path: "/v1/signed", key: h.keys["device"]}), 200, "")
	})
}

// TestMemberOfTenant: a group of a tenant never gives an operator's scope.
func TestMemberOfTenant(t *testing.T) {
	t.Parallel()
	var g groups
	h := newHouse(t, dbtest.SQLite(t), withGroups(&g))
	h.make(t, "amina", "kitui", auth.Draft{Name: "Amina", Role: "member", Principal: amina})
	g.set("kitui", amina, "*", "operations:write")
	want(t, h.do(call{path: "/v1/entities", key: h.keys["amina"]}), 200, "")
	want(t, h.do(call{path: "/v1/operate", key: h.keys["amina"]}), 403, "SCOPE_MISSING")
	want(t, h.do(call{path: "/v1/metrics", key: h.keys["amina"]}), 404, "ROUTE_NOT_FOUND")
}

// TestMemberKeysElsewhere: other processes on the folder hear of groups as they
// hear of keys.
func TestMemberKeysElsewhere(t *testing.T) {
	t.Parallel()
	var g groups
	path := filepath.Join(t.TempDir(), "keys.stamp")
	h := newHouse(t, dbtest.SQLite(t), withGroups(&g), func(c *auth.Config) { c.Stamp = path })
	h.make(t, "amina", "default", auth.Draft{Name: "Amina", Role: "member", Principal: amina})
	want(t, h.do(call{path: "/v1/entities", key: h.keys["amina"]}), 403, "SCOPE_MISSING")
	other := h.service(withGroups(&g), func(c *auth.Config) { c.Stamp = path })
	g.set("default", amina, "entities:write")
	auth.Announce(other)
	want(t, h.do(call{path: "/v1/entities", key: h.keys["amina"]}), 200, "")
}

// TestMemberMakesNoMore: what a member key makes is inside what it has now, and
// no narrower key of the same person grows by making a member key.
func TestMemberMakesNoMore(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var g groups
		g.set("default", amina, "keys:write", "entities:read")
		h := newHouse(t, d, withGroups(&g))
		h.make(t, "amina", "default", auth.Draft{Name: "Amina", Role: "member", Principal: amina})
		h.make(t, "narrow", "default", auth.Draft{Name: "robot", Scopes: []string{"keys:write"}, Principal: amina})
		h.make(t, "mallory", "default", auth.Draft{Name: "x", Scopes: []string{"keys:write", "entities:read"}})
		self := auth.Draft{Name: "x", Role: "member", Principal: amina}
		for _, tt := range []struct {
			who   string
			draft auth.Draft
			code  string
		}{
			{"amina", auth.Draft{Name: "x", Scopes: []string{"entities:read"}}, ""},
			{"amina", auth.Draft{Name: "x", Scopes: []string{"entities:write"}}, "SCOPE_MISSING"},
			{"amina", auth.Draft{Name: "x", Role: "owner"}, "SCOPE_MISSING"},
			{"amina", self, ""},
			{"amina", auth.Draft{Name: "x", Role: "member"}, ""},
			{"amina", auth.Draft{Name: "x", Role: "member", Principal: "did:ixo:entity:ann"}, "SCOPE_MISSING"},
			{"narrow", self, "SCOPE_MISSING"},
			{"narrow", auth.Draft{Name: "x", Role: "member"}, ""},
			{"mallory", self, "SCOPE_MISSING"},
			{"owner", self, ""},
		} {
			_, err := h.svc.Create(h.with(t, tt.who), tt.draft)
			if got := codeOf(err); got != tt.code {
				t.Errorf("%s makes %+v: %v, want %q", tt.who, tt.draft, err, tt.code)
			}
		}
		for who, code := range map[string]string{"narrow": "SCOPE_MISSING", "mallory": "SCOPE_MISSING", "amina": "", "owner": ""} {
			id := h.make(t, "fresh", "default", self).ID
			k, err := h.svc.Rotate(h.with(t, who), id, auth.Rotation{})
			if got := codeOf(err); got != code {
				t.Errorf("%s rotates a member key: %v, want %q", who, err, code)
			}
			if err == nil && !slices.Equal(k.Scopes, []string{"member"}) {
				t.Errorf("the new key has %q, want the word member", k.Scopes)
			}
		}
		// To end one takes all it has at the moment.
		_, err := h.svc.Revoke(h.with(t, "narrow"), h.ids["amina"], "")
		wantCode(t, err, "SCOPE_MISSING")
		_, err = h.svc.Revoke(h.with(t, "mallory"), h.ids["amina"], "")
		wantCode(t, err, "")
	})
}

// TestStillValidWithoutTheGroup: what goes on after the gate ends when the
// groups no longer give what it began with.
func TestStillValidWithoutTheGroup(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var g groups
		g.set("default", amina, "entities:write", "events:read")
		h := newHouse(t, d, withGroups(&g))
		h.make(t, "amina", "default", auth.Draft{Name: "Amina", Role: "member", Principal: amina})
		stream := h.with(t, "amina")
		wantCode(t, h.svc.StillValid(stream, false), "")
		g.set("default", amina, "entities:*", "events:read", "audit:read")
		wantCode(t, h.svc.StillValid(stream, true), "") // more is fine
		g.set("default", amina, "entities:write")
		wantCode(t, h.svc.StillValid(stream, false), "") // nobody has said so
		auth.Announce(h.svc)
		wantCode(t, h.svc.StillValid(stream, false), "SCOPE_MISSING")
	})
}

// TestForget: an erased person leaves no name and no working key.
func TestForget(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "one", "default", auth.Draft{Name: "Amina's tablet", Role: "device", Principal: amina})
		h.make(t, "two", "default", auth.Draft{Name: "Amina's phone", Role: "member", Principal: amina})
		h.make(t, "elsewhere", "kitui", auth.Draft{Name: "Amina", Role: "device", Principal: amina})
		ctx := h.as(t, "default")
		if _, err := h.svc.Revoke(ctx, h.ids["two"], ""); err != nil {
			t.Fatal(err)
		}
		want(t, h.do(call{path: "/v1/signed", key: h.keys["one"]}), 200, "")
		h.takeEvents()
		for _, want := range []int64{2, 0} {
			var n int64
			err := d.InTx(ctx, func(tx *db.Tx) (err error) {
				n, err = h.svc.Forget(ctx, tx, "default", amina)
				return err
			})
			if err != nil || n != want {
				t.Fatalf("Forget() = %d, %v, want %d keys", n, err, want)
			}
		}
		wantEvents(t, h, "default key.revoked "+h.ids["one"]+" 2")
		want(t, h.do(call{path: "/v1/signed", key: h.keys["one"]}), 401, "KEY_INVALID")
		want(t, h.do(call{path: "/v1/signed", key: h.keys["elsewhere"]}), 200, "")
		for _, name := range []string{"one", "two"} {
			k, err := h.svc.Get(ctx, h.ids[name])
			if err != nil || k.Name != "erased" || k.Status != auth.Revoked {
				t.Errorf("%s = %+v, %v, want it revoked and without its name", name, k, err)
			}
		}
		var left int
		if err := d.QueryRow(ctx, `SELECT count(*) FROM principals WHERE workspace = 'default' AND name LIKE '%Amina%'`).Scan(&left); err != nil || left != 0 {
			t.Errorf("%d principals keep the name, %v", left, err)
		}
	})
}
