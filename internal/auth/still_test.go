package auth_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// holder is the context of a request that came with a key.
func (h *house) holder(t *testing.T, name, workspace string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), web.Caller{Workspace: workspace, DID: "did:key:z1", Key: h.ids[name]})
}

func TestStillValid(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		path := filepath.Join(t.TempDir(), "keys.stamp")
		h := newHouse(t, d, func(c *auth.Config) { c.Stamp = path })
		h.make(t, "short", "default", auth.Draft{Name: "short", Role: "device", ExpiresAt: epoch.Add(30 * time.Second)})
		device, short := h.holder(t, "device", "default"), h.holder(t, "short", "default")
		for _, ctx := range []context.Context{device, short, t.Context()} {
			wantCode(t, h.svc.StillValid(ctx, false), "")
			wantCode(t, h.svc.StillValid(ctx, true), "")
		}
		wantCode(t, h.svc.StillValid(h.holder(t, "device", "kitui"), true), "KEY_INVALID") // not there
		h.pass(30 * time.Second)
		wantCode(t, h.svc.StillValid(short, false), "KEY_EXPIRED")
		wantCode(t, h.svc.StillValid(short, true), "KEY_EXPIRED")
		// Another process on the same folder.
		cli := h.service(func(c *auth.Config) { c.Stamp = path })
		if _, err := cli.Revoke(h.as(t, "default"), h.ids["device"], ""); err != nil {
			t.Fatal(err)
		}
		wantCode(t, h.svc.StillValid(device, false), "KEY_INVALID")
		if _, err := h.svc.Revoke(h.as(t, "default"), h.ids["reader"], ""); err != nil {
			t.Fatal(err)
		}
		wantCode(t, h.svc.StillValid(h.holder(t, "reader", "default"), false), "KEY_INVALID")
	})
}

// TestStillValidIsCheap: a key that nothing has happened to costs no query.
func TestStillValidIsCheap(t *testing.T) {
	t.Parallel()
	h := newHouse(t, dbtest.SQLite(t))
	device, reader := h.holder(t, "device", "default"), h.holder(t, "reader", "default")
	wantCode(t, h.svc.StillValid(device, false), "")
	want(t, h.do(call{path: "/v1/signed", key: h.keys["reader"]}), 200, "") // the gate has looked
	if err := h.db.Close(); err != nil {
		t.Fatal(err)
	}
	wantCode(t, h.svc.StillValid(device, false), "")
	wantCode(t, h.svc.StillValid(reader, false), "")
	wantCode(t, h.svc.StillValid(device, true), "STORE_UNAVAILABLE")
	h.svc.Flush()
	wantCode(t, h.svc.StillValid(reader, false), "STORE_UNAVAILABLE")
}

// TestStillValidWithoutNews: a change nobody has announced is seen when the
// cache gets old, and at once by who looks anew.
func TestStillValidWithoutNews(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		h := newHouse(t, d)
		device := h.holder(t, "device", "default")
		wantCode(t, h.svc.StillValid(device, false), "")
		if _, err := h.service().Revoke(h.as(t, "default"), h.ids["device"], ""); err != nil {
			t.Fatal(err)
		}
		wantCode(t, h.svc.StillValid(device, true), "KEY_INVALID")
		h.pass(time.Minute)
		wantCode(t, h.svc.StillValid(device, false), "KEY_INVALID")
	})
}

// TestStillValidByToken: a caller who came with a token is asked about each time.
func TestStillValidByToken(t *testing.T) {
	t.Parallel()
	h := newHouse(t, dbtest.SQLite(t))
	now := web.Caller{Workspace: "default", DID: amina, Scopes: []string{"entities:*", "events:read"}}
	var trouble error
	c := now
	c.Again = func(context.Context) (web.Caller, error) { return now, trouble }
	ctx := web.WithCaller(t.Context(), c)
	wantCode(t, h.svc.StillValid(ctx, false), "")
	now.Scopes = []string{"*"}
	wantCode(t, h.svc.StillValid(ctx, false), "")
	now.Scopes = []string{"entities:*"}
	wantCode(t, h.svc.StillValid(ctx, false), "SCOPE_MISSING")
	now.Workspace, now.Scopes = "kitui", []string{"*"}
	wantCode(t, h.svc.StillValid(ctx, true), "") // all but an operator's, of which it had none
	trouble = fault.New(fault.Unauthenticated, "UCAN_INVALID", "The key was taken away.")
	wantCode(t, h.svc.StillValid(ctx, false), "UCAN_INVALID")
}
