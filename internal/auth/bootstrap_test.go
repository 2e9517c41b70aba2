package auth_test

import (
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// empty is a house nobody has moved into.
func empty(t testing.TB, d *db.DB) *house {
	t.Helper()
	h := &house{db: d, keys: map[string]string{}, ids: map[string]string{}, logs: &logBuffer{}, now: epoch}
	h.svc = h.service()
	h.handler = h.serve(t, h.svc)
	return h
}

func TestBootstrapRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := empty(t, d)
		shown := make([]string, 8)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range shown {
			s := h.service() // an instance each
			wg.Go(func() {
				<-start
				var err error
				if shown[i], err = s.Bootstrap(t.Context(), ""); err != nil {
					t.Errorf("Bootstrap() = %v", err)
				}
			})
		}
		close(start)
		wg.Wait()
		text := strings.Join(shown, "")
		if len(text) != len("hearth_")+10+1+43 {
			t.Fatalf("the instances showed %q, want one key", shown)
		}
		want(t, h.do(call{path: "/v1/operate", key: text}), 200, "")
		wantEvents(t, h, "default workspace.created default 1", "default key.created "+firstKey(t, h)+" 1")
		if again, err := h.svc.Bootstrap(t.Context(), ""); again != "" || err != nil {
			t.Errorf("second Bootstrap() = %q, %v, want nothing", again, err)
		}
		wantEvents(t, h)
	})
}

func firstKey(t *testing.T, h *house) string {
	t.Helper()
	keys, more, err := h.svc.List(h.as(t, "default"), "", "", 10)
	if err != nil || more != nil || len(keys) != 1 {
		t.Fatalf("List() = %v, %v, %v, want one key", keys, more, err)
	}
	return keys[0].ID
}

func TestOwnerKeyFromTheSettings(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := empty(t, d)
		first, second := strings.Repeat("a", 32), strings.Repeat("b", 32)
		for _, text := range []string{"short", strings.Repeat("a", 31), strings.Repeat("a", 513), first + "\n", " " + first} {
			_, err := h.svc.Bootstrap(t.Context(), text)
			wantCode(t, err, "OWNER_KEY_INVALID")
		}
		for _, text := range []string{first, first, second, second, first} {
			if shown, err := h.svc.Bootstrap(t.Context(), text); shown != "" || err != nil {
				t.Errorf("Bootstrap() = %q, %v, want nothing shown", shown, err)
			}
		}
		want(t, h.do(call{path: "/v1/operate", key: first}), 200, "")
		want(t, h.do(call{path: "/v1/operate", key: second}), 200, "")
		wantEvents(t, h, "default workspace.created default 1", "default key.created key_00000001 1", "default key.created key_00000003 1")

		// A revoked one does not come back by a restart.
		if _, err := h.svc.Revoke(h.as(t, "default"), "key_00000001", ""); err != nil {
			t.Fatal(err)
		}
		if _, err := h.svc.Bootstrap(t.Context(), first); err != nil {
			t.Fatal(err)
		}
		want(t, h.do(call{path: "/v1/operate", key: first}), 401, "KEY_INVALID")
	})
}

func TestOwnerKeyOfSomebodyElse(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		for _, name := range []string{"tenant", "manager"} {
			_, err := h.svc.Bootstrap(t.Context(), h.keys[name])
			wantCode(t, err, "OWNER_KEY_TAKEN")
			want(t, h.do(call{path: "/v1/operate", key: h.keys[name]}), 403, "SCOPE_MISSING")
		}
	})
}

func TestAdoptRace(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		text := strings.Repeat("c", 40)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				<-start
				if _, err := h.service().Bootstrap(t.Context(), text); err != nil {
					t.Errorf("Bootstrap() = %v", err)
				}
			})
		}
		close(start)
		wg.Wait()
		if got := h.takeEvents(); len(got) != 1 {
			t.Errorf("events = %q, want one key", got)
		}
	})
}

func TestAsOwner(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		_, err := h.svc.AsOwner(t.Context(), "nairobi")
		wantCode(t, err, "WORKSPACE_NOT_FOUND")
		_, err = h.svc.CreateWorkspace(h.as(t, "kitui"), auth.WorkspaceDraft{ID: "nairobi", Name: "x"})
		wantCode(t, err, "SCOPE_MISSING")
		_, err = h.svc.Create(h.as(t, "kitui"), auth.Draft{Name: "x", Scopes: []string{"operations:read"}})
		wantCode(t, err, "SCOPE_MISSING")
		k, err := h.svc.Create(h.as(t, "kitui"), auth.Draft{Name: "x", Role: "owner"})
		if err != nil || k.Workspace != "kitui" {
			t.Errorf("Create() = %v, %v, want an owner key of kitui", k, err)
		}
	})
}
