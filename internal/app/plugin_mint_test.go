package app_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/plugin"
)

// errand is a plugin that would go to another service for its user.
type errand struct{ host plugin.Host }

var (
	_ plugin.Starts = (*errand)(nil)
	_ plugin.Routes = (*errand)(nil)
	_ plugin.Tools  = (*errand)(nil)
)

func (e *errand) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: "errand", Title: "Errand", Summary: "Goes to services.", Visibility: plugin.Always}
}

func (e *errand) Start(_ context.Context, h plugin.Host) error { e.host = h; return nil }

func (e *errand) mint(ctx context.Context) (any, error) {
	i, err := e.host.Mint(ctx, plugin.Want{Service: "did:web:svc.example", Can: "memory/read", With: "ixo:memory"})
	return i.Token, err
}

func (e *errand) Routes() []plugin.Route {
	return []plugin.Route{
		{Method: "GET", Path: "/errand", Summary: "Go", Serve: func(r *plugin.Request) (any, error) { return e.mint(r.Context()) }},
		{Method: "GET", Path: "/errand/open", Public: true, Summary: "Go", Serve: func(r *plugin.Request) (any, error) { return e.mint(r.Context()) }},
	}
}

func (e *errand) Tools() []plugin.Tool {
	return []plugin.Tool{{Name: "go_there", Description: "Goes.", ReadOnly: true, Run: func(ctx context.Context, _ plugin.Call) (any, error) { return e.mint(ctx) }}}
}

// TestPluginMint: a plugin gets invocations out of what its user has delegated, until
// that is taken back, and nobody else does.
func TestPluginMint(t *testing.T) {
	t.Parallel()
	b := app.BuildTo(t, owner, io.Discard, nil, &errand{})
	signed := chatter{b, []string{"X-Auth-Type", "ucan", "Authorization", "Bearer " + token(t, b, 'a')}}
	stranger := chatter{b, []string{"X-Auth-Type", "ucan", "Authorization", "Bearer " + token(t, b, 'b')}}
	wants := func(who chatter, path string, status int, text string) {
		t.Helper()
		if w := who.send("GET", path, ""); w.Code != status || !strings.Contains(w.Body.String(), text) {
			t.Errorf("GET %s = %d %s, want %d %s", path, w.Code, w.Body, status, text)
		}
	}
	wants(signed, "/errand", http.StatusUnauthorized, `"delegation":{"can":"memory/read","service":"did:web:svc.example","with":"ixo:memory"}`)
	u, err := signer(t, "", "a").Mint(ucan.Draft{Audience: b.OracleDID(), Expires: time.Now().Add(time.Hour), Capabilities: []ucan.Capability{{Can: "memory/*", With: "ixo:memory"}}})
	if err != nil {
		t.Fatal(err)
	}
	if w := signed.send("POST", "/delegation", `{"raw":"`+u.Text()+`"}`); w.Code != 200 {
		t.Fatalf("POST /delegation = %d %s", w.Code, w.Body)
	}
	wants(signed, "/errand", 200, `"OqJlcm9vdHOB`)
	if got := signed.says(t, signed.session(t), `/tool go_there {}`); !strings.Contains(got, "OqJlcm9vdHOB") {
		t.Errorf("the tool = %s", got)
	}
	wants(stranger, "/errand", 401, "has not allowed memory/read on ixo:memory")
	wants(byKey(b, owner), "/errand", 401, "has not allowed")
	wants(signed, "/errand/open", 401, "has not allowed")
	if w := signed.send("DELETE", "/delegation", ""); w.Code != 200 {
		t.Fatalf("DELETE /delegation = %d %s", w.Code, w.Body)
	}
	wants(signed, "/errand", 401, "was asked for it a while ago")
}

// TestInvocationsOnly: an operator can want invocations, on sockets and in headers.
func TestInvocationsOnly(t *testing.T) {
	t.Parallel()
	b := app.BuildTo(t, owner, io.Discard, func(c *config.Config) { c.Oracle.UCANRequireInvocation = true })
	text := token(t, b, 'a')
	if w := (chatter{b, []string{"X-Ucan-Delegation", text}}).send("GET", "/sessions", ""); w.Code != 401 || !strings.Contains(w.Body.String(), ucan.TextMissing) {
		t.Errorf("a delegation alone = %d %s", w.Code, w.Body)
	}
	if w := (chatter{b, []string{"X-Auth-Type", "ucan", "Authorization", "Bearer " + text}}).send("GET", "/sessions", ""); w.Code != 200 {
		t.Errorf("an invocation = %d %s", w.Code, w.Body)
	}
}
