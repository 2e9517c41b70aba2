package group_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/group"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// village is an organisation whose members control its groups. Amina is in a
// weak one, and in none of the strong ones.
type village struct {
	*rig
	org, weak, strong string
}

func newVillage(t *testing.T, d *db.DB) *village {
	t.Helper()
	r := newRig(t, d)
	owner := r.owner(t)
	v := &village{rig: r}
	v.org = r.organisation(t)
	// The organisation is a controller of itself, and so of its groups.
	err := d.InTx(owner, func(tx *db.Tx) error {
		row, err := r.entities.FindForUpdate(owner, tx, v.org)
		if err != nil {
			return err
		}
		_, err = r.entities.Mutate(owner, tx, row, entity.Action{Name: "update"}, func(e *entity.Entity) error {
			e.Controllers = append(e.Controllers, v.org)
			return nil
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	v.weak = r.make(t, v.org, group.Draft{
		Name: "weak", Scopes: []string{"groups:*", "entities:read", "entities:write", "keys:write"}, Members: []string{amina},
	})
	v.strong = r.make(t, v.org, group.Draft{Name: "strong", Scopes: []string{"*"}, Members: []string{baraka}})
	r.key(t, "amina", auth.Draft{Role: "member", Principal: amina})
	return v
}

// TestNoEscalation: a member who controls the groups of her organisation gets
// out of them what she has, and nothing else.
func TestNoEscalation(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newVillage(t, d)
		tag := func(id string) string {
			w := v.send("owner", "GET", path("/v1/entities/%s", id), "")
			return w.Header().Get("ETag")
		}
		try := func(what string, status int, code, method, path, body string, header ...string) {
			t.Helper()
			wantStatus(t, what, v.send("amina", method, path, body, header...), status, code)
		}
		member := path("/v1/entities/%s/members/%s", v.strong, amina)
		try("join the strong", 403, "SCOPE_MISSING", "PUT", member, "")
		try("have a friend join", 403, "SCOPE_MISSING", "PUT", path("/v1/entities/%s/members/%s", v.strong, "did:example:friend"), "")
		groups := path("/v1/entities/%s/groups", v.org)
		try("found a strong one", 403, "SCOPE_MISSING", "POST", groups, `{"name":"x","scopes":["claims:evaluate"],"members":["`+amina+`"]}`)
		try("with all", 403, "SCOPE_MISSING", "POST", groups, `{"name":"x","scopes":["*"]}`)
		try("inside the strong", 403, "SCOPE_MISSING", "POST", path("/v1/entities/%s/groups", v.strong), `{"name":"x","scopes":["*"]}`)
		try("as a twin", 403, "SCOPE_MISSING", "POST", "/v1/entities",
			fmt.Sprintf(`{"type":"x","protocol":"did:ixo:protocol/group","properties":{"name":"x","scopes":["claims:evaluate"]},"relationships":[{"role":"partOf","target":%q}]}`, v.org))
		try("patch the weak", 403, "SCOPE_MISSING", "PATCH", path("/v1/entities/%s", v.weak), `{"properties":{"scopes":["*"]}}`,
			"If-Match", tag(v.weak), "Content-Type", "application/merge-patch+json")
		try("a property of it", 403, "SCOPE_MISSING", "PUT", path("/v1/entities/%s/properties/scopes", v.weak), `["entities:erase"]`, "If-Match", tag(v.weak))
		try("a key of her own", 403, "SCOPE_MISSING", "POST", "/v1/api-keys", `{"name":"x","scopes":["entities:erase"]}`)
		try("a member key for a strong friend", 403, "SCOPE_MISSING", "POST", "/v1/api-keys", `{"name":"x","role":"member","principal":"`+baraka+`"}`)
		if got := v.scopes(t, amina); strings.Contains(got, "*") && got != "entities:read entities:write groups:* keys:write" {
			t.Errorf("she has %q", got)
		}
		// What she may do is done.
		try("a group like hers", 201, "", "POST", groups, `{"name":"y","scopes":["entities:read"],"members":["did:example:friend"]}`)
		try("a friend into hers", 200, "", "PUT", path("/v1/entities/%s/members/%s", v.weak, "did:example:friend"), "")
	})
}

// TestStranger: who controls nothing changes nothing, whatever its scopes.
func TestStranger(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newVillage(t, d)
		v.key(t, "manager", auth.Draft{Role: "manager"})
		for _, tt := range []struct{ method, path, body string }{
			{"PUT", path("/v1/entities/%s/members/%s", v.weak, amina), ""},
			{"DELETE", path("/v1/entities/%s/members/%s", v.weak, amina), ""},
			{"POST", path("/v1/entities/%s/groups", v.org), `{"name":"x"}`},
		} {
			wantStatus(t, tt.method+" "+tt.path, v.send("manager", tt.method, tt.path, tt.body), 403, "NOT_CONTROLLER")
		}
		v.key(t, "device", auth.Draft{Role: "device"})
		wantStatus(t, "without the scope", v.send("device", "GET", path("/v1/memberships?member=%s", amina), ""), 403, "SCOPE_MISSING")
	})
}

// TestAtOnce: a key of the role member has what its groups give at each
// request, whichever way that changes.
func TestAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newVillage(t, d)
		owner := v.owner(t)
		want := func(what string, status int) {
			t.Helper()
			if w := v.send("amina", "GET", path("/v1/entities/%s/members", v.weak), ""); w.Code != status {
				t.Errorf("%s: %d %s, want %d", what, w.Code, w.Body, status)
			}
		}
		patch := func(id, props string) {
			t.Helper()
			err := d.InTx(owner, func(tx *db.Tx) error {
				_, err := v.entities.PatchTx(owner, tx, id, "*", entity.Change{Merge: []byte(`{"properties":` + props + `}`)})
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		want("at first", 200)
		if _, err := v.groups.Remove(owner, v.weak, amina); err != nil {
			t.Fatal(err)
		}
		want("taken out", 403)
		v.add(t, v.weak, amina)
		want("put back", 200)
		patch(v.weak, `{"scopes":["entities:read"]}`)
		want("the group gives less", 403)
		patch(v.weak, `{"scopes":["groups:read"]}`)
		want("and something else", 200)
		v.move(t, v.weak, entity.StatusSuspended)
		want("the group is suspended", 403)
		v.move(t, v.weak, entity.StatusActive)
		want("and active again", 200)
		v.move(t, v.org, entity.StatusSuspended)
		want("the organisation is suspended", 403)
		v.move(t, v.org, entity.StatusActive)
		want("and active again", 200)
		v.move(t, v.weak, entity.StatusDeactivated)
		want("the group has ended", 403)
	})
}

// TestOtherWorkspace: groups of others look as if they were not there.
func TestOtherWorkspace(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newVillage(t, d)
		o, err := v.auth.CreateWorkspace(v.owner(t), auth.WorkspaceDraft{ID: "kitui", Name: "Kitui"})
		if err != nil {
			t.Fatal(err)
		}
		v.keys["tenant"] = o.OwnerKey.Text
		missing := "did:ixo:entity:00000000000000000000000000000000"
		for _, tt := range []struct{ method, path, body string }{
			{"GET", "/v1/entities/%s/members", ""},
			{"GET", "/v1/entities/%s/groups", ""},
			{"POST", "/v1/entities/%s/groups", `{"name":"x"}`},
			{"PUT", "/v1/entities/%s/members/did:example:me", ""},
			{"DELETE", "/v1/entities/%s/members/" + baraka, ""},
		} {
			for _, id := range []string{v.strong, v.org, missing} {
				wantStatus(t, tt.method+" "+tt.path, v.send("tenant", tt.method, path(tt.path, id), tt.body), 404, "ENTITY_NOT_FOUND")
			}
		}
		w := v.send("tenant", "GET", "/v1/memberships?member="+baraka, "")
		if w.Code != 200 || strings.Contains(w.Body.String(), v.strong) {
			t.Errorf("memberships seen from outside: %d %s", w.Code, w.Body)
		}
		// A key that sees one project sees no group of the whole workspace.
		v.key(t, "narrow", auth.Draft{Role: "owner", Projects: []string{"did:ixo:entity:1"}})
		wantStatus(t, "with a project", v.send("narrow", "GET", path("/v1/entities/%s/members", v.strong), ""), 404, "ENTITY_NOT_FOUND")
		w = v.send("narrow", "GET", "/v1/memberships?member="+baraka, "")
		if w.Code != 200 || strings.Contains(w.Body.String(), v.strong) {
			t.Errorf("memberships seen from a project: %d %s", w.Code, w.Body)
		}
	})
}

// TestNarrowKey: a key that sees one project gives no rights in all of them,
// even where it sees the group.
func TestNarrowKey(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		v := newVillage(t, d)
		owner := v.owner(t)
		project := v.create(owner, t, entity.Draft{Type: "Project", Protocol: "did:ixo:protocol/project", Properties: object(`{"name":"x"}`)})
		if _, err := d.Exec(owner, `UPDATE entities SET project = $1 WHERE did = $2`, project, v.weak); err != nil {
			t.Fatal(err)
		}
		c := web.CallerFrom(owner)
		c.Projects = []string{project}
		_, err := v.groups.Add(web.WithCaller(owner, c), v.weak, "did:example:me", nil)
		wantCode(t, "by a key of the project", err, "KEY_RESTRICTED")
		_, err = v.groups.Create(web.WithCaller(owner, c), v.weak, group.Draft{Name: "x", Scopes: []string{"entities:read"}})
		wantCode(t, "a group by a key of the project", err, "KEY_RESTRICTED")
	})
}

// TestRevived: an organisation that was suspended gives nobody anything again by
// the hand of a controller who lacks what its groups give, however deep.
func TestRevived(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		r := newRig(t, d)
		org := r.organisation(t, baraka)
		outer := r.make(t, org, group.Draft{Name: "outer", Scopes: []string{"entities:read"}})
		r.make(t, outer, group.Draft{Name: "inner", Scopes: []string{"keys:write"}, Members: []string{amina}})
		lacking := r.as(t, baraka, "entities:read", "entities:write")
		holding := r.as(t, baraka, "entities:read", "entities:write", "keys:write")
		for _, id := range []string{org, outer} {
			if id == outer { // of which only the owner is a controller
				lacking = r.as(t, web.CallerFrom(r.owner(t)).DID, "entities:read", "entities:write")
				holding = r.owner(t)
			}
			r.move(t, id, entity.StatusSuspended)
			wantCode(t, "without keys:write", r.tryMove(lacking, id, entity.StatusActive), "SCOPE_MISSING")
			if got := r.scopes(t, amina); got != "" {
				t.Errorf("scopes of a member = %q, want none", got)
			}
			wantCode(t, "with it", r.tryMove(holding, id, entity.StatusActive), "")
			if got := r.scopes(t, amina); got != "keys:write" {
				t.Errorf("scopes of a member = %q, want keys:write", got)
			}
		}
	})
}

// TestTenantGroups: in a workspace of a tenant a group gives nothing of the
// operator's, whatever it says.
func TestTenantGroups(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	if _, err := r.auth.CreateWorkspace(r.owner(t), auth.WorkspaceDraft{ID: "kitui", Name: "Kitui"}); err != nil {
		t.Fatal(err)
	}
	ctx, err := r.auth.AsOwner(t.Context(), "kitui")
	if err != nil {
		t.Fatal(err)
	}
	org := r.create(ctx, t, entity.Draft{Type: "Organisation", Protocol: "did:ixo:protocol/organisation", Properties: object(`{"name":"x"}`)})
	if _, err := r.groups.Create(ctx, org, group.Draft{Name: "all", Scopes: []string{"*"}, Members: []string{amina}}); err != nil {
		t.Fatal(err)
	}
	_, err = r.groups.Create(ctx, org, group.Draft{Name: "rulers", Scopes: []string{"operations:read"}})
	wantCode(t, "an operator's scope", err, "SCOPE_MISSING")
	scopes, err := group.ScopesOf(t.Context(), r.d, web.Caller{Workspace: "kitui", DID: amina})
	if err != nil {
		t.Fatal(err)
	}
	c := web.Caller{Workspace: "kitui", Scopes: scopes}
	if c.May("operations:read") || c.May("workspaces:write") || !c.May("entities:erase") {
		t.Errorf("the group gives %q", scopes)
	}
}

// TestHalfway: a request whose context ends changes nothing.
func TestHalfway(t *testing.T) {
	t.Parallel()
	r := newRig(t, dbtest.SQLite(t))
	org := r.organisation(t)
	ctx, cancel := context.WithCancel(r.owner(t))
	cancel()
	if _, err := r.groups.Create(ctx, org, group.Draft{Name: "x", Members: []string{amina}}); err == nil {
		t.Error("a group was made for nobody")
	}
}
