package auth_test

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type named struct {
	ID string `json:"id"`
}

// walk follows a list from its first page to its last.
func walk(t *testing.T, h *house, key, path string, limit int) (ids []string, cursors []string) {
	t.Helper()
	cursor := ""
	for {
		w := h.do(call{path: fmt.Sprintf("%s?limit=%d&cursor=%s", path, limit, url.QueryEscape(cursor)), key: h.keys[key]})
		want(t, w, 200, "")
		p := read[web.Page[named]](t, w)
		for _, item := range p.Items {
			ids = append(ids, item.ID)
		}
		if len(p.Items) > limit || p.Page.HasMore != (p.Page.NextCursor != "") {
			t.Fatalf("page = %+v, want at most %d items and a cursor if there is more", p, limit)
		}
		if !p.Page.HasMore {
			return ids, cursors
		}
		cursor = p.Page.NextCursor
		cursors = append(cursors, cursor)
	}
}

func TestPages(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		all := []string{h.ids["owner"], h.ids["reader"], h.ids["manager"], h.ids["device"]}
		for i := range 9 {
			all = append(all, h.make(t, "x", "default", auth.Draft{Name: "x", Role: "device"}).ID)
			h.make(t, "y", "kitui", auth.Draft{Name: "y", Role: "device"})
			o, err := h.svc.CreateWorkspace(h.as(t, "default"), auth.WorkspaceDraft{ID: fmt.Sprintf("w-%d", i), Name: "x"})
			if err != nil || o.Operator {
				t.Fatalf("CreateWorkspace() = %v, %v", o, err)
			}
		}
		for _, limit := range []int{1, 4, 12, 13, 14, 1000} {
			if ids, _ := walk(t, h, "owner", "/v1/api-keys", limit); !slices.Equal(ids, all) {
				t.Errorf("pages of %d: %v, want %v", limit, ids, all)
			}
		}
		ids, cursors := walk(t, h, "owner", "/v1/workspaces", 2)
		if len(ids) != 11 || !slices.IsSorted(ids) || ids[0] != "default" || ids[1] != "kitui" {
			t.Errorf("workspaces = %v, want all 11 in order", ids)
		}
		if ids, _ := walk(t, h, "tenant", "/v1/workspaces", 1); !slices.Equal(ids, []string{"kitui"}) {
			t.Errorf("the tenant sees %v, want its own workspace", ids)
		}
		// A cursor works for its own list and workspace only.
		want(t, h.do(call{path: "/v1/api-keys?cursor=" + cursors[0], key: ownerText}), 400, "INVALID_CURSOR")
		want(t, h.do(call{path: "/v1/workspaces?cursor=" + cursors[0], key: h.keys["tenant"]}), 400, "INVALID_CURSOR")
		want(t, h.do(call{path: "/v1/workspaces?cursor=" + cursors[0], key: ownerText}), 200, "")
	})
}

// TestKeysOfProjects: a key that is limited to projects knows of no key that sees
// anything else, whatever it may do itself.
func TestKeysOfProjects(t *testing.T) {
	t.Parallel()
	const p1, p2, p3 = "did:ixo:entity:p1", "did:ixo:entity:p2", "did:ixo:entity:p3"
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "inner before", "default", auth.Draft{Name: "x", Role: "device", Projects: []string{p2}})
		h.make(t, "limited", "default", auth.Draft{Name: "x", Role: "owner", Projects: []string{p1, p2}})
		h.make(t, "same", "default", auth.Draft{Name: "x", Role: "device", Projects: []string{p2, p1}})
		h.make(t, "wider", "default", auth.Draft{Name: "x", Role: "device", Projects: []string{p1, p3}})
		h.make(t, "other", "default", auth.Draft{Name: "x", Role: "device", Projects: []string{p3}})
		h.make(t, "inner", "default", auth.Draft{Name: "x", Role: "device", Projects: []string{p1}})
		h.make(t, "whole", "default", auth.Draft{Name: "x", Role: "device"})
		seen := []string{"inner before", "limited", "same", "inner"}
		var all []string
		for _, name := range seen {
			all = append(all, h.ids[name])
		}
		for _, limit := range []int{1, 2, 3, 4, 5, 1000} {
			if ids, _ := walk(t, h, "limited", "/v1/api-keys", limit); !slices.Equal(ids, all) {
				t.Errorf("pages of %d: %v, want %v", limit, ids, all)
			}
		}
		if _, err := h.svc.Revoke(h.as(t, "default"), h.ids["inner"], ""); err != nil {
			t.Fatal(err)
		}
		w := h.do(call{path: "/v1/api-keys?status=active", key: h.keys["limited"]})
		if got := read[web.Page[named]](t, w); len(got.Items) != 3 {
			t.Errorf("active keys = %s, want 3", w.Body)
		}
		for name, id := range h.ids {
			status, code := 404, "KEY_NOT_FOUND"
			if slices.Contains(seen, name) {
				status, code = 200, ""
			}
			for _, method := range []string{"GET", "DELETE"} {
				if name != "limited" || method == "GET" {
					want(t, h.do(call{method: method, path: "/v1/api-keys/" + id, key: h.keys["limited"]}), status, code)
				}
			}
			rename := call{
				method: "PATCH", path: "/v1/api-keys/" + id, body: `{"name":"y"}`, key: h.keys["limited"],
				header: map[string]string{"Content-Type": "application/merge-patch+json", "If-Match": "*"},
			}
			if w := h.do(rename); status == 404 {
				want(t, w, status, code)
			}
		}
		want(t, h.do(call{path: "/v1/api-keys/current", key: h.keys["limited"]}), 200, "")
	})
}

// TestBusyGate uses and changes keys at the same time: a key that was revoked
// before a request began is never let in.
func TestBusyGate(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d, func(c *auth.Config) { c.FailureLimit = 1_000_000 })
		owner := h.as(t, "default")
		var wg sync.WaitGroup
		for range 4 {
			wg.Go(func() {
				for range 10 {
					k, err := h.svc.Create(owner, auth.Draft{Name: "x", Role: "device"})
					if err != nil {
						t.Error(err)
						return
					}
					use := func() int { return h.do(call{path: "/v1/signed", key: k.Text}).Code }
					for range 5 {
						if got := use(); got != 200 {
							t.Errorf("status = %d before the revocation, want 200", got)
						}
					}
					if _, err := h.svc.Revoke(owner, k.ID, ""); err != nil {
						t.Error(err)
					}
					if got := use(); got != 401 {
						t.Errorf("status = %d after the revocation, want 401", got)
					}
				}
			})
		}
		wg.Wait()
	})
}

// TestReference: the routes are in the reference, with what their bodies are.
func TestReference(t *testing.T) {
	t.Parallel()
	a := web.NewAPI(web.APIConfig{Name: "keys"})
	auth.New(auth.Config{}).Routes(a)
	for _, r := range a.Routes() {
		if s := r.Doc.Scope; s != web.Signed && slices.ContainsFunc(s.Names(), func(name string) bool { return !auth.KnownScope(name) }) {
			t.Errorf("%s %s needs the unknown scope %q", r.Method, r.Path, s)
		}
	}
	doc := web.Document("Hearth", "1", a)
	if _, err := doc.MarshalJSON(); err != nil {
		t.Fatal(err)
	}
	rotate := doc.Paths["/v1/api-keys/{id}/rotate"].Post
	if rotate == nil || rotate.RequestBody == nil || rotate.Responses["201"] == nil {
		t.Errorf("rotate = %+v, want a body and 201", rotate)
	}
	found := false
	for name, schema := range doc.Components.Schemas.Map() {
		if strings.HasSuffix(name, "Issued") {
			found = schema.Properties["key"] != nil && schema.Properties["scopes"] != nil
		}
	}
	if !found {
		t.Error("the reference has no schema with the members of a key and its text")
	}
	for _, p := range doc.Paths["/v1/api-keys"].Get.Parameters {
		if p.Name == "limit" && p.Schema.Type != "integer" {
			t.Errorf("limit is %q in the reference, want integer", p.Schema.Type)
		}
	}
}
