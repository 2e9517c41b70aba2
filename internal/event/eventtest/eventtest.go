// Package eventtest helps tests of the event log and its webhooks: callers of
// all kinds behind a gate, and route cases read from JSON files.
package eventtest

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// Cursors signs cursors in tests.
func Cursors() web.Cursors { return web.Cursors{Key: []byte("0123456789abcdef0123456789abcdef")} }

// Caller makes a caller of a workspace: "owner" may do everything, "reader" and
// "reader2" may only read events, "auditor" may also read the audit log, "hooker" may only manage
// webhooks, "clerk" works on twins but does not see others' personal data, "project"
// is limited to one project, "phone" and "tablet" are two did:keys that sign for a DID.
func Caller(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws}
	switch role {
	case "owner":
		c.Scopes = []string{"*"}
	case "reader", "reader2":
		c.Scopes = []string{"events:read"}
	case "auditor":
		c.Scopes = []string{"audit:read", "events:read"}
	case "hooker":
		c.Scopes = []string{"webhooks:*"}
	case "clerk":
		c.Scopes = []string{"entities:read", "entities:write", "entities:transfer", "devices:*", "exports:*", "imports:*", "jobs:*", "protocols:*"}
	case "project":
		c.Scopes, c.Projects = []string{"*"}, []string{"did:ixo:entity:1"}
	case "phone", "tablet":
		c.DID, c.Key, c.Signer, c.Scopes = "did:ixo:entity:2", "", c.DID, []string{"*"}
	}
	return c
}

// Context returns the context of a request by an owner.
func Context(ctx context.Context, ws string) context.Context {
	return web.WithCaller(ctx, Caller(ws, "owner"))
}

// Gate admits "Authorization: Bearer <workspace> <role>".
type Gate struct{}

var _ web.Gate = Gate{}

// Admit reads the caller from the header.
func (Gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	ws, role, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), " ")
	if !ok {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "Send a key.")
	}
	c := Caller(ws, role)
	if !scope.Open(c.May) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+string(scope)+" is missing.")
	}
	return c, nil
}

// Serve returns a handler for the routes that add registers.
func Serve(t testing.TB, add ...func(*web.API)) http.Handler {
	t.Helper()
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: Gate{}, Errors: web.Problem})
	for _, f := range add {
		f(a)
	}
	return webtest.Handler(t, a)
}

// Append stores events, each in its own transaction: "type", "type subject"
// or "type subject data", with the data as JSON.
func Append(t testing.TB, d *db.DB, l *event.Log, ws string, types ...string) {
	t.Helper()
	ctx := Context(t.Context(), ws)
	for _, typ := range types {
		typ, rest, _ := strings.Cut(typ, " ")
		e := event.Event{Type: typ, Revision: 1}
		subject, data, some := strings.Cut(rest, " ")
		if e.Subject = subject; some {
			e.Data = jsontext.Value(data)
		}
		err := d.InTx(ctx, func(tx *db.Tx) error {
			return l.Append(ctx, tx, e)
		})
		if err != nil {
			t.Fatalf("append %s: %v", typ, err)
		}
	}
}
