package auth_test

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// by has somebody make a key.
func (h *house) by(t *testing.T, who, name string, d auth.Draft) auth.Issued {
	t.Helper()
	d.Name = name
	k, err := h.svc.Create(h.with(t, who), d)
	if err != nil {
		t.Fatalf("%s makes %s: %v", who, name, err)
	}
	h.keys[name], h.ids[name] = k.Text, k.ID
	return k
}

// wantBound checks on whose groups keys depend.
func wantBound(t *testing.T, h *house, bound ...string) {
	t.Helper()
	for i := 0; i < len(bound); i += 2 {
		k, err := h.svc.Get(h.as(t, "default"), h.ids[bound[i]])
		if got := strings.Join(k.BoundTo, " "); err != nil || got != bound[i+1] {
			t.Errorf("%s is bound to %q, %v, want %q", bound[i], got, err, bound[i+1])
		}
	}
}

// TestBoundKeys: a key made with rights of groups is worth what they give at each
// use, through keys made by keys and through rotation, and ends with them.
func TestBoundKeys(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var g groups
		rights := func(member string, scopes ...string) { g.set("default", member, scopes...) }
		rights(amina, "keys:*", "entities:*", "devices:*", "operations:write")
		h := newHouse(t, d, withGroups(&g), func(c *auth.Config) {
			c.UCAN = func(r *http.Request) (web.Caller, error) {
				scopes, err := g.scopes(r.Context(), nil, web.Caller{Workspace: "default", DID: amina})
				return web.Caller{Workspace: "default", DID: amina, Scopes: scopes}, err
			}
		})
		h.make(t, "amina", "default", auth.Draft{Name: "x", Role: "member", Principal: amina})
		h.by(t, "amina", "first", auth.Draft{Scopes: []string{"keys:write", "entities:*"}})
		h.by(t, "first", "second", auth.Draft{Scopes: []string{"entities:write"}})
		h.by(t, "amina", "robot", auth.Draft{Role: "member"})
		h.by(t, "amina", "same", auth.Draft{Role: "member", Principal: amina})
		h.by(t, "owner", "free", auth.Draft{Scopes: []string{"entities:write"}})
		token := call{method: "POST", path: "/v1/api-keys", body: `{"name":"x","scopes":["entities:write"]}`, header: map[string]string{"X-Auth-Type": "ucan"}}
		w := h.do(token)
		want(t, w, 201, "")
		made := read[auth.Issued](t, w)
		h.keys["token"], h.ids["token"] = made.Text, made.ID
		rotate := func(who, old, name string) {
			k, err := h.svc.Rotate(h.with(t, who), h.ids[old], auth.Rotation{})
			if err != nil {
				t.Fatalf("%s rotates %s: %v", who, old, err)
			}
			h.keys[name], h.ids[name] = k.Text, k.ID
		}
		rotate("owner", "second", "third")
		rotate("third", "third", "fourth")
		rotate("amina", "device", "taken") // an owner's own key until then
		robotDID := robotOf(t, h)
		wantBound(t, h, "amina", "", "same", "", "free", "", "robot", amina, "first", amina, "second", amina, "third", amina, "fourth", amina,
			"token", amina, "taken", amina)
		rights(robotDID, "entities:write", "events:read", "keys:write")
		auth.Announce(h.svc)
		h.by(t, "robot", "child", auth.Draft{Scopes: []string{"entities:write"}})
		both := []string{amina, robotDID}
		slices.Sort(both)
		wantBound(t, h, "child", strings.Join(both, " "))
		status := func(name string) int { return h.do(call{path: "/v1/entities", key: h.keys[name]}).Code }
		check := func(when string, want int, names ...string) {
			t.Helper()
			for _, name := range names {
				if got := status(name); got != want {
					t.Errorf("%s: %s = %d, want %d", when, name, got, want)
				}
			}
		}
		all := []string{"amina", "first", "second", "third", "fourth", "token", "robot", "child", "free"}
		check("while she has all of it", 200, all...)
		if c := web.CallerFrom(h.with(t, "robot")); slices.Contains(c.Scopes, "events:read") {
			t.Errorf("a robot of hers has %q, which she has not", c.Scopes)
		}
		rights(amina, "entities:read", "keys:write")
		auth.Announce(h.svc)
		check("with less", 403, "amina", "first", "robot")
		check("with less", 401, "second", "third", "fourth", "token", "child", "taken")
		check("with less", 200, "free")
		if c := web.CallerFrom(h.with(t, "first")); !slices.Equal(c.Scopes, []string{"entities:read", "keys:write"}) {
			t.Errorf("entities:* of a key has become %q, want what its maker has of it", c.Scopes)
		}
		stream := h.with(t, "first")
		rights(amina)
		auth.Announce(h.svc)
		check("after she was taken out", 401, "first", "second", "third", "fourth", "token", "robot", "child", "taken")
		wantCode(t, h.svc.StillValid(stream, false), "KEY_INVALID")
		rights(amina, "entities:*", "keys:write")
		auth.Announce(h.svc)
		check("back again", 200, all...)
		rights(robotDID)
		auth.Announce(h.svc)
		check("without the robot", 401, "child")
		check("without the robot", 200, "first")
	})
}

// robotOf is the principal of the key named robot.
func robotOf(t *testing.T, h *house) string {
	t.Helper()
	k, err := h.svc.Get(h.as(t, "default"), h.ids["robot"])
	if err != nil {
		t.Fatal(err)
	}
	return k.Principal
}

// TestOwnersByGroups: an owner key that depends on a group is not the one a
// workspace keeps, nor is one that somebody rotates who acts through groups.
func TestOwnersByGroups(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var g groups
		g.set("default", amina, "*")
		h := newHouse(t, d, withGroups(&g))
		h.make(t, "amina", "default", auth.Draft{Name: "x", Role: "member", Principal: amina})
		h.by(t, "amina", "hers", auth.Draft{Role: "owner"})
		for _, who := range []string{"owner", "amina", "hers"} {
			_, err := h.svc.Revoke(h.with(t, who), h.ids["owner"], "")
			wantCode(t, err, "LAST_OWNER")
		}
		for _, who := range []string{"amina", "hers"} {
			_, err := h.svc.Rotate(h.with(t, who), h.ids["owner"], auth.Rotation{})
			wantCode(t, err, "LAST_OWNER")
		}
		// The first key of a workspace she makes is the tenant's.
		o, err := h.svc.CreateWorkspace(h.with(t, "amina"), auth.WorkspaceDraft{ID: "makueni", Name: "x"})
		if err != nil || len(o.OwnerKey.BoundTo) != 0 {
			t.Errorf("CreateWorkspace() = %+v, %v, want a key of its own", o, err)
		}
	})
}

// TestLongChain: a key does not depend on ever more memberships.
func TestLongChain(t *testing.T) {
	t.Parallel()
	h := newHouse(t, dbtest.SQLite(t))
	c := web.CallerFrom(h.with(t, "owner"))
	for range 17 {
		c.Through = append(c.Through, "did:ixo:entity:"+strings.Repeat("a", len(c.Through)+1))
	}
	_, err := h.svc.Create(web.WithCaller(t.Context(), c), auth.Draft{Name: "x", Role: "device"})
	wantCode(t, err, "KEY_CHAIN_TOO_LONG")
}

// TestKeysMadeBefore: keys of an earlier version are bound where it is known that
// their maker acted through groups.
func TestKeysMadeBefore(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const ben = "did:ixo:entity:ben"
		var g groups
		g.set("default", amina, "keys:*", "entities:*", "workspaces:write")
		g.set("default", ben, "keys:*", "entities:*")
		h := newHouse(t, d, withGroups(&g))
		h.make(t, "amina", "default", auth.Draft{Name: "x", Role: "member", Principal: amina})
		h.make(t, "ben", "default", auth.Draft{Name: "x", Role: "member", Principal: ben})
		h.make(t, "given", "default", auth.Draft{Name: "x", Scopes: []string{"keys:*", "entities:*"}, Principal: ben})
		h.by(t, "amina", "first", auth.Draft{Scopes: []string{"keys:write", "entities:*"}})
		h.by(t, "amina", "own", auth.Draft{Scopes: []string{"entities:read"}, Principal: amina})
		h.by(t, "amina", "same", auth.Draft{Role: "member", Principal: amina})
		h.by(t, "first", "second", auth.Draft{Scopes: []string{"entities:write"}})
		h.by(t, "ben", "unknown", auth.Draft{Scopes: []string{"entities:write"}})
		h.by(t, "manager", "plain", auth.Draft{Scopes: []string{"entities:write"}})
		k, err := h.svc.Rotate(h.as(t, "default"), h.ids["second"], auth.Rotation{})
		if err != nil {
			t.Fatal(err)
		}
		h.ids["third"] = k.ID
		o, err := h.svc.CreateWorkspace(h.with(t, "amina"), auth.WorkspaceDraft{ID: "makueni", Name: "x"})
		if err != nil {
			t.Fatal(err)
		}
		migrate(t.Context(), t, d)
		wantBound(t, h, "owner", "", "amina", "", "ben", "", "given", "", "same", "", "unknown", "", "plain", "", "manager", "",
			"first", amina, "own", amina, "second", amina, "third", amina)
		tenant, err := h.svc.AsOwner(t.Context(), "makueni")
		if err != nil {
			t.Fatal(err)
		}
		if k, err := h.svc.Get(tenant, o.OwnerKey.ID); err != nil || len(k.BoundTo) != 0 {
			t.Errorf("the first key of a workspace = %+v, %v, want it bound to nobody", k, err)
		}
	})
}

// migrate does once more what the migration that knows of chains does to keys.
func migrate(ctx context.Context, t *testing.T, d *db.DB) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "db", "migrations", string(d.Dialect()), "*_key_chain.sql"))
	if err != nil || len(files) != 1 {
		t.Fatalf("migrations: %q, %v", files, err)
	}
	text, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	_, bind, _ := strings.Cut(string(text), "WITH RECURSIVE")
	err = d.InTx(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE api_keys SET bound_to = '[]'`); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, "WITH RECURSIVE "+strings.TrimSuffix(strings.TrimSpace(bind), ";"))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// TestGroupsEndByThemselves: what groups give can end with time, of which nobody
// is told. A key knows within a second.
func TestGroupsEndByThemselves(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		var g groups
		g.set("default", amina, "keys:write", "entities:write")
		h := newHouse(t, d, withGroups(&g))
		h.make(t, "amina", "default", auth.Draft{Name: "x", Role: "member", Principal: amina})
		h.by(t, "amina", "made", auth.Draft{Scopes: []string{"entities:write"}})
		status := func(name string) int { return h.do(call{path: "/v1/entities", key: h.keys[name]}).Code }
		stream := h.with(t, "amina")
		if a, b := status("amina"), status("made"); a != 200 || b != 200 {
			t.Fatalf("amina = %d, made = %d, want 200", a, b)
		}
		g.set("default", amina)
		h.pass(time.Second)
		if a, b := status("amina"), status("made"); a != 403 || b != 401 {
			t.Errorf("a second after its end a group gives amina %d and what she made %d, want 403 and 401", a, b)
		}
		wantCode(t, h.svc.StillValid(stream, false), "SCOPE_MISSING")
	})
}
