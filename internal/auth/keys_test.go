package auth_test

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// with is a caller that uses one of the house's keys.
func (h *house) with(t *testing.T, name string) context.Context {
	t.Helper()
	w := h.do(call{path: "/v1/signed", key: h.keys[name]})
	want(t, w, 200, "")
	return web.WithCaller(t.Context(), read[web.Caller](t, w))
}

func seconds(n int64) *int64 { return &n }

// The owner key of a new workspace is no wider than the key that made it.
func TestNoEscalationByAWorkspace(t *testing.T) {
	t.Parallel()
	limits := auth.Draft{Name: "x", Scopes: []string{"workspaces:write"}, Networks: []string{"192.0.2.0/24"}, ExpiresAt: epoch.Add(time.Hour)}
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "maker", "default", limits)
		o, err := h.svc.CreateWorkspace(h.with(t, "maker"), auth.WorkspaceDraft{ID: "nairobi", Name: "x"})
		if k := o.OwnerKey; err != nil || !slices.Equal(k.Networks, limits.Networks) || !k.ExpiresAt.Equal(limits.ExpiresAt) {
			t.Errorf("CreateWorkspace() = %+v, %v, want a key with the limits of its maker", k.Key, err)
		}
		limits := limits
		limits.Projects = []string{"did:ixo:entity:p1"}
		h.make(t, "one project", "default", limits)
		_, err = h.svc.CreateWorkspace(h.with(t, "one project"), auth.WorkspaceDraft{ID: "mombasa", Name: "x"})
		wantCode(t, err, "RESTRICTION_EXCEEDED")
	})
}

func TestNoEscalation(t *testing.T) {
	t.Parallel()
	const p1, p2 = "did:ixo:entity:p1", "did:ixo:entity:p2"
	limits := auth.Draft{
		Name: "x", Scopes: []string{"keys:write", "entities:read"}, Projects: []string{p1, p2},
		Networks: []string{"10.0.0.0/8", "192.0.2.0/24"}, ExpiresAt: epoch.Add(time.Hour),
	}
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "maker", "default", limits)
		maker := h.with(t, "maker")
		for _, tt := range []struct {
			name   string
			change func(*auth.Draft)
			want   string // code and pointers
		}{
			{"same", func(*auth.Draft) {}, ""},
			{"narrower", func(d *auth.Draft) {
				d.Scopes, d.Projects, d.Networks, d.ExpiresAt = []string{"entities:read"}, []string{p2}, []string{"10.1.0.0/16"}, epoch.Add(time.Minute)
			}, ""},
			{"silent", func(d *auth.Draft) { d.Projects, d.Networks, d.ExpiresAt = nil, nil, time.Time{} }, ""},
			{"scope", func(d *auth.Draft) { d.Scopes = []string{"entities:*"} }, "SCOPE_MISSING /scopes scope_missing"},
			{"role", func(d *auth.Draft) { d.Role = "owner" }, "SCOPE_MISSING /scopes scope_missing"},
			{"project", func(d *auth.Draft) { d.Projects = []string{p1, "did:ixo:entity:p3"} }, "RESTRICTION_EXCEEDED /projects too_wide"},
			{"network", func(d *auth.Draft) { d.Networks = []string{"0.0.0.0/0"} }, "RESTRICTION_EXCEEDED /networks too_wide"},
			{"wider network", func(d *auth.Draft) { d.Networks = []string{"10.0.0.0/7"} }, "RESTRICTION_EXCEEDED /networks too_wide"},
			{"other family", func(d *auth.Draft) { d.Networks = []string{"::/0"} }, "RESTRICTION_EXCEEDED /networks too_wide"},
			{"expiry", func(d *auth.Draft) { d.ExpiresAt = epoch.Add(2 * time.Hour) }, "RESTRICTION_EXCEEDED /expiresAt too_late"},
			{"somebody", func(d *auth.Draft) { d.Principal = "did:ixo:entity:ann" }, "SCOPE_MISSING /principal scope_missing"},
			{"myself", func(d *auth.Draft) { d.Principal = web.CallerFrom(maker).DID }, ""},
		} {
			draft := limits
			tt.change(&draft)
			k, err := h.svc.Create(maker, draft)
			if tt.want != "" {
				code, rest, _ := strings.Cut(tt.want, " ")
				wantCode(t, err, code)
				if got := strings.Join(pointers(err), ", "); got != rest {
					t.Errorf("%s: refused for %q, want %q", tt.name, got, rest)
				}
				continue
			}
			if err != nil || len(k.Projects) == 0 || len(k.Networks) == 0 || k.ExpiresAt.IsZero() || k.ExpiresAt.After(limits.ExpiresAt) {
				t.Errorf("%s: Create() = %+v, %v, want a key inside the limits of its maker", tt.name, k.Key, err)
			}
		}
	})
}

// TestNoEscalationByRotation: who rotates a key learns a text with its rights.
func TestNoEscalationByRotation(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		manager := h.with(t, "manager")
		_, err := h.svc.Rotate(manager, h.ids["owner"], auth.Rotation{})
		wantCode(t, err, "SCOPE_MISSING")
		_, err = h.svc.Revoke(manager, h.ids["owner"], "")
		wantCode(t, err, "SCOPE_MISSING")
		_, err = h.svc.Rotate(manager, h.ids["tenant"], auth.Rotation{})
		wantCode(t, err, "KEY_NOT_FOUND")
		_, err = h.svc.Revoke(manager, h.ids["tenant"], "")
		wantCode(t, err, "KEY_NOT_FOUND")
		wantEvents(t, h)
		want(t, h.do(call{path: "/v1/operate", key: h.keys["owner"]}), 200, "")
		if _, err = h.svc.Rotate(manager, h.ids["device"], auth.Rotation{}); err != nil {
			t.Errorf("Rotate(device) by the manager = %v, want nil", err)
		}

		// A short-lived key cannot live on in a key it rotates.
		h.make(t, "brief", "default", auth.Draft{Name: "x", Role: "manager", ExpiresAt: epoch.Add(time.Minute)})
		fresh, err := h.svc.Rotate(h.with(t, "brief"), h.ids["reader"], auth.Rotation{})
		if err != nil || !fresh.ExpiresAt.Equal(epoch.Add(time.Minute)) {
			t.Errorf("rotated key expires at %v, %v, want with its maker", fresh.ExpiresAt, err)
		}
	})
}

// TestNoImpersonationByRotation: who rotates a key learns its successor, and
// could speak as its principal or see past its own restrictions.
func TestNoImpersonationByRotation(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		h.make(t, "alice", "default", auth.Draft{Name: "alice", Scopes: []string{"entities:write"}, Principal: "did:ixo:entity:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"})
		h.make(t, "mallory", "default", auth.Draft{Name: "mallory", Scopes: []string{"keys:write", "entities:write"}})
		_, err := h.svc.Rotate(h.with(t, "mallory"), h.ids["alice"], auth.Rotation{})
		wantCode(t, err, "SCOPE_MISSING")
		if _, err := h.svc.Rotate(h.with(t, "owner"), h.ids["alice"], auth.Rotation{}); err != nil {
			t.Errorf("Rotate(alice) by the owner = %v, want nil", err)
		}
		h.make(t, "narrow", "default", auth.Draft{Name: "narrow", Scopes: []string{"keys:write", "devices:*"}, Projects: []string{"did:ixo:entity:1"}})
		zero := int64(0)
		_, err = h.svc.Rotate(h.with(t, "narrow"), h.ids["device"], auth.Rotation{GraceSeconds: &zero})
		wantCode(t, err, "KEY_NOT_FOUND")
		_, err = h.svc.Revoke(h.with(t, "narrow"), h.ids["device"], "")
		wantCode(t, err, "KEY_NOT_FOUND")
	})
}

func TestRotate(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		old := h.make(t, "old", "default", auth.Draft{
			Name: "x", Scopes: []string{"entities:write"}, Projects: []string{"did:ixo:entity:1"},
			Networks: []string{"192.0.2.0/24"}, ExpiresAt: epoch.Add(48 * time.Hour),
		})
		h.takeEvents()
		use := func(text string) string {
			w := h.do(call{path: "/v1/entities", key: text})
			if w.Code == 200 {
				return ""
			}
			return read[answer](t, w).Code
		}
		if code := use(old.Text); code != "" { // into the cache
			t.Fatal(code)
		}
		fresh, err := h.svc.Rotate(h.as(t, "default"), old.ID, auth.Rotation{GraceSeconds: seconds(60)})
		if err != nil {
			t.Fatal(err)
		}
		wantEvents(t, h, "default key.rotated "+old.ID+" 2", "default key.created "+fresh.ID+" 1")
		if fresh.Text == old.Text || fresh.Replaces != old.ID || fresh.Principal != old.Principal || fresh.Name != old.Name ||
			!slices.Equal(fresh.Scopes, old.Scopes) || !slices.Equal(fresh.Projects, old.Projects) ||
			!slices.Equal(fresh.Networks, old.Networks) || !fresh.ExpiresAt.Equal(old.ExpiresAt) {
			t.Errorf("fresh = %+v, want the rights of %+v", fresh.Key, old.Key)
		}
		stored, err := h.svc.Get(h.as(t, "default"), old.ID)
		if err != nil || stored.Status != auth.Rotated || stored.ReplacedBy != fresh.ID || !stored.GraceUntil.Equal(epoch.Add(time.Minute)) {
			t.Errorf("old = %+v, %v, want it rotated with a minute of grace", stored, err)
		}
		_, err = h.svc.Rotate(h.as(t, "default"), old.ID, auth.Rotation{})
		wantCode(t, err, "KEY_NOT_ACTIVE")
		h.pass(time.Minute - time.Millisecond)
		if a, b := use(old.Text), use(fresh.Text); a != "" || b != "" {
			t.Errorf("in the grace period: old %q, fresh %q, want both to work", a, b)
		}
		h.pass(time.Millisecond)
		if a, b := use(old.Text), use(fresh.Text); a != "KEY_EXPIRED" || b != "" {
			t.Errorf("after the grace period: old %q, fresh %q, want KEY_EXPIRED and a working one", a, b)
		}
		last, err := h.svc.Rotate(h.as(t, "default"), fresh.ID, auth.Rotation{GraceSeconds: seconds(0)})
		if err != nil {
			t.Fatal(err)
		}
		if a, b := use(fresh.Text), use(last.Text); a != "KEY_INVALID" || b != "" {
			t.Errorf("without grace: old %q, fresh %q, want KEY_INVALID and a working one", a, b)
		}
		for _, n := range []int64{-1, 86401} {
			_, err = h.svc.Rotate(h.as(t, "default"), last.ID, auth.Rotation{GraceSeconds: &n})
			wantCode(t, err, "ROTATION_INVALID")
		}
	})
}

func TestRotateRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ctx := h.as(t, "default")
		for range 8 { // one round alone may happen to run in order
			id := h.make(t, "x", "default", auth.Draft{Name: "x", Role: "device"}).ID
			h.takeEvents()
			codes := make([]string, 8)
			start := make(chan struct{})
			var wg sync.WaitGroup
			for i := range codes {
				wg.Go(func() {
					<-start
					_, err := h.svc.Rotate(ctx, id, auth.Rotation{})
					codes[i] = codeOf(err)
				})
			}
			close(start)
			wg.Wait()
			slices.Sort(codes)
			if codes[0] != "" || codes[1] != "KEY_NOT_ACTIVE" || codes[7] != "KEY_NOT_ACTIVE" {
				t.Errorf("codes = %q, want one success", codes)
			}
			if got := h.takeEvents(); len(got) != 2 {
				t.Errorf("events = %q, want one rotation", got)
			}
		}
	})
}

func TestRevokeIsFinal(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		ctx := h.as(t, "default")
		_, err := h.svc.Revoke(ctx, h.ids["device"], `"7"`)
		wantCode(t, err, "STALE_REVISION")
		first, err := h.svc.Revoke(ctx, h.ids["device"], `"1"`)
		if err != nil || first.Status != auth.Revoked || first.Revision != 2 || !first.RevokedAt.Equal(epoch) {
			t.Errorf("Revoke() = %+v, %v", first, err)
		}
		h.pass(time.Hour)
		again, err := h.svc.Revoke(ctx, h.ids["device"], `"1"`)
		if err != nil || !again.RevokedAt.Equal(epoch) || again.Revision != 2 {
			t.Errorf("second Revoke() = %+v, %v, want the same record", again, err)
		}
		wantEvents(t, h, "default key.revoked "+h.ids["device"]+" 2")
		_, err = h.svc.Rotate(ctx, h.ids["device"], auth.Rotation{})
		wantCode(t, err, "KEY_NOT_ACTIVE")
		_, err = h.svc.Revoke(ctx, "key_nowhere", "")
		wantCode(t, err, "KEY_NOT_FOUND")
	})
}

// TestRevokedMakerMakesNothing: a request the gate let in just before its key
// was revoked must not leave a key behind.
func TestRevokedMakerMakesNothing(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		inside := h.with(t, "manager")
		if _, err := h.svc.Revoke(h.as(t, "default"), h.ids["manager"], ""); err != nil {
			t.Fatal(err)
		}
		_, err := h.svc.Create(inside, auth.Draft{Name: "x", Role: "device"})
		wantCode(t, err, "KEY_INVALID")
		_, err = h.svc.Rotate(inside, h.ids["device"], auth.Rotation{})
		wantCode(t, err, "KEY_INVALID")
	})
}

func TestLastUse(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		used := func() time.Time {
			k, err := h.svc.Get(h.as(t, "default"), h.ids["device"])
			if err != nil {
				t.Fatal(err)
			}
			return k.LastUsedAt
		}
		h.do(call{path: "/v1/signed", key: h.keys["device"]})
		h.pass(time.Second)
		h.do(call{path: "/v1/signed", key: h.keys["device"]})
		if !used().IsZero() {
			t.Error("a request waited for a write")
		}
		cancelled, cancel := context.WithCancel(t.Context())
		cancel()
		if err := h.svc.SaveUsed(cancelled); err == nil {
			t.Error("SaveUsed() with an ended context = nil")
		}
		if err := h.svc.SaveUsed(t.Context()); err != nil || !used().Equal(epoch.Add(time.Second)) {
			t.Errorf("last use = %v, %v, want %v", used(), err, epoch.Add(time.Second))
		}
		// Another instance with an older time does not turn the clock back.
		h.pass(-time.Hour)
		h.do(call{path: "/v1/signed", key: h.keys["device"]})
		if err := h.svc.SaveUsed(t.Context()); err != nil || !used().Equal(epoch.Add(time.Second)) {
			t.Errorf("last use = %v, %v, want it unchanged", used(), err)
		}
		// Run saves what is left when it ends.
		h.pass(2 * time.Hour)
		h.do(call{path: "/v1/signed", key: h.keys["device"]})
		h.svc.Run(cancelled)
		if want := epoch.Add(time.Hour + time.Second); !used().Equal(want) {
			t.Errorf("last use = %v, want %v", used(), want)
		}
	})
}
