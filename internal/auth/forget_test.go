package auth_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// forget erases a principal of the operator's workspace from the keys, with the
// rights of ctx.
func (h *house) forget(ctx context.Context, principal string) (n int64, err error) {
	err = h.db.InTx(ctx, func(tx *db.Tx) (err error) {
		n, err = h.svc.Forget(ctx, tx, "default", principal)
		return err
	})
	return n, err
}

// TestLastOwner: whatever is tried over the API, a workspace keeps a key that
// may do everything, from anywhere and without an end.
func TestLastOwner(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "short", "default", auth.Draft{Name: "x", Role: "owner", ExpiresAt: epoch.Add(time.Hour)})
		h.make(t, "project", "default", auth.Draft{Name: "x", Role: "owner", Projects: []string{amina}})
		h.make(t, "network", "default", auth.Draft{Name: "x", Role: "owner", Networks: []string{"192.0.2.0/24"}})
		h.make(t, "replaced", "default", auth.Draft{Name: "x", Role: "owner"})
		first, err := h.svc.Rotate(h.as(t, "default"), h.ids["replaced"], auth.Rotation{})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := h.svc.Revoke(h.as(t, "default"), first.ID, ""); err != nil {
			t.Fatal(err) // the owner's is left
		}
		owner, short, id := h.with(t, "owner"), h.with(t, "short"), h.ids["owner"]
		revoke := func(ctx context.Context, id string) error {
			_, err := h.svc.Revoke(ctx, id, "")
			return err
		}
		rotate := func(ctx context.Context, grace *int64) error {
			_, err := h.svc.Rotate(ctx, id, auth.Rotation{GraceSeconds: grace})
			return err
		}
		erase := func(ctx context.Context) error {
			_, err := h.forget(ctx, web.CallerFrom(owner).DID)
			return err
		}
		for name, err := range map[string]error{
			"the owner revokes":              revoke(owner, id),
			"another owner revokes":          revoke(short, id),
			"the command line revokes":       revoke(h.as(t, "default"), id),
			"a short-lived owner rotates":    rotate(short, nil),
			"a short-lived owner replaces":   rotate(short, seconds(0)),
			"the owner is erased":            erase(owner),
			"the owner is erased by another": erase(short),
		} {
			if got := codeOf(err); got != "LAST_OWNER" {
				t.Errorf("%s: %v, want LAST_OWNER", name, err)
			}
		}
		want(t, h.do(call{method: "DELETE", path: "/v1/api-keys/" + id, key: h.keys["owner"]}), 409, "LAST_OWNER")
		want(t, h.do(call{path: "/v1/entities", key: h.keys["owner"]}), 200, "")
		// The one of another workspace does not count, nor does it keep others from
		// losing theirs.
		tenant := h.with(t, "tenant")
		wantCode(t, revoke(tenant, h.ids["tenant"]), "LAST_OWNER")
		wantCode(t, revoke(h.with(t, "guest"), h.ids["guest"]), "")
		// A rotation leaves a successor, and with it the old one may end.
		next, err := h.svc.Rotate(owner, id, auth.Rotation{})
		wantCode(t, err, "")
		wantCode(t, revoke(owner, id), "")
		wantCode(t, revoke(h.as(t, "default"), next.ID), "LAST_OWNER")
		// So does another key.
		h.make(t, "second", "default", auth.Draft{Name: "x", Role: "owner"})
		wantCode(t, revoke(h.as(t, "default"), next.ID), "")
		wantCode(t, revoke(h.as(t, "default"), h.ids["second"]), "LAST_OWNER")
		_, err = h.svc.RevokeAny(h.as(t, "default"), h.ids["second"])
		wantCode(t, err, "")
		want(t, h.do(call{path: "/v1/signed", key: h.keys["second"]}), 401, "KEY_INVALID")
	})
}

// TestOwnersAgainstEachOther: owners who end each other's keys in the same
// moment, by revoking and by erasing, leave one.
func TestOwnersAgainstEachOther(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		if _, err := h.svc.RevokeAny(h.as(t, "default"), h.ids["owner"]); err != nil {
			t.Fatal(err)
		}
		const owners = 4
		for round := range 10 {
			var by [owners]context.Context
			for i := range by {
				name := fmt.Sprint("owner ", i)
				h.make(t, name, "default", auth.Draft{Name: name, Role: "owner"})
				by[i] = h.with(t, name)
			}
			start := make(chan struct{})
			var wg sync.WaitGroup
			for i, ctx := range by {
				other := by[(i+1)%owners]
				svc := h.service() // another process
				wg.Go(func() {
					<-start
					var err error
					if (i+round)%2 == 0 {
						_, err = svc.Revoke(ctx, web.CallerFrom(other).Key, "")
					} else {
						_, err = h.forget(ctx, web.CallerFrom(other).DID)
					}
					// KEY_INVALID: the caller's own key ended first.
					if code := codeOf(err); err != nil && code != "LAST_OWNER" && code != "KEY_INVALID" {
						t.Errorf("owner %d: %v", i, err)
					}
				})
			}
			close(start)
			wg.Wait()
			left := 0
			for _, ctx := range by {
				k, err := h.svc.Get(ctx, web.CallerFrom(ctx).Key)
				if err != nil {
					t.Fatal(err)
				}
				if k.Status == auth.Active {
					left++
				}
			}
			if left == 0 {
				t.Fatalf("round %d: no owner key is left", round)
			}
			for _, ctx := range by { // the next round begins without them
				if _, err := h.svc.RevokeAny(h.as(t, "default"), web.CallerFrom(ctx).Key); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

// TestForgetTakesTheRights: keys and groups of an erased principal end by the
// hand of somebody who has what they have.
func TestForgetTakesTheRights(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		const ann, ben, cem, dan = amina, "did:ixo:entity:ben", "did:ixo:entity:cem", "did:ixo:entity:dan"
		var g groups
		h := newHouse(t, d, withGroups(&g))
		h.make(t, "a", "default", auth.Draft{Name: "x", Role: "device", Principal: ann})
		h.make(t, "old", "default", auth.Draft{Name: "x", Role: "owner", Principal: ben})
		h.make(t, "c", "default", auth.Draft{Name: "x", Role: "member", Principal: cem})
		if _, err := h.svc.Revoke(h.as(t, "default"), h.ids["old"], ""); err != nil {
			t.Fatal(err)
		}
		g.set("default", cem, "entities:read")
		g.set("default", dan, "entities:read")
		h.make(t, "wide", "default", auth.Draft{Name: "x", Scopes: []string{"keys:write", "devices:*", "entities:read"}})
		h.make(t, "erase", "default", auth.Draft{Name: "x", Scopes: []string{"entities:erase", "devices:*", "entities:read"}})
		h.make(t, "keys", "default", auth.Draft{Name: "x", Scopes: []string{"keys:write", "entities:erase"}})
		h.make(t, "project", "default", auth.Draft{Name: "x", Role: "owner", Projects: []string{ann}})
		h.make(t, "network", "default", auth.Draft{Name: "x", Role: "owner", Networks: []string{"192.0.2.0/24"}})
		for _, tt := range []struct {
			who, principal, code string
		}{
			{"erase", ann, "SCOPE_MISSING"},
			{"keys", ann, "SCOPE_MISSING"},
			{"project", ann, "RESTRICTION_EXCEEDED"},
			{"network", ann, "RESTRICTION_EXCEEDED"},
			{"erase", ben, ""}, // its key does not work any more
			{"erase", cem, "SCOPE_MISSING"},
			{"keys", cem, "SCOPE_MISSING"},
			{"keys", dan, "SCOPE_MISSING"}, // without any key
			{"erase", dan, ""},
			{"erase", "did:ixo:entity:nobody", ""},
			{"wide", ann, ""},
			{"wide", cem, ""},
		} {
			ctx := h.with(t, tt.who)
			if err := h.svc.MayForget(ctx, d, "default", tt.principal); codeOf(err) != tt.code {
				t.Errorf("%s may forget %s: %v, want %q", tt.who, tt.principal, err, tt.code)
			} else if err != nil && strings.Contains(err.Error(), "grant") {
				t.Errorf("%s may forget %s: %v, want what an erasure needs", tt.who, tt.principal, err)
			}
			if _, err := h.forget(ctx, tt.principal); codeOf(err) != tt.code {
				t.Errorf("%s forgets %s: %v, want %q", tt.who, tt.principal, err, tt.code)
			}
		}
		want(t, h.do(call{path: "/v1/signed", key: h.keys["a"]}), 401, "KEY_INVALID")
		want(t, h.do(call{path: "/v1/signed", key: h.keys["c"]}), 401, "KEY_INVALID")
	})
}
