package app_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/internal/app"
	"github.com/hearth-dmrv/hearth/internal/ucan"
	"github.com/hearth-dmrv/hearth/plugin"
)

// mirror is a plugin that calls the server for its callers: what comes to
// /mirror is asked of the path in X-Ask.
type mirror struct {
	host   plugin.Host
	before func()       // something that happens between a request and that of the plugin
	loops  atomic.Int32 // how often it was asked to call itself
	kept   *http.Client // of a request that is over
}

var (
	_ plugin.Starts = (*mirror)(nil)
	_ plugin.Routes = (*mirror)(nil)
	_ plugin.Tools  = (*mirror)(nil)
)

func (m *mirror) Manifest() plugin.Manifest {
	return plugin.Manifest{Name: "mirror", Title: "Mirror", Summary: "Calls the server.", Visibility: plugin.Always}
}

func (m *mirror) Start(_ context.Context, h plugin.Host) error { m.host = h; return nil }

func (m *mirror) Tools() []plugin.Tool {
	return []plugin.Tool{{Name: "find_self", Description: "Finds the twin of the oracle.", ReadOnly: true, Run: func(ctx context.Context, _ plugin.Call) (any, error) {
		c, err := client.New(client.Config{BaseURL: plugin.Server, HTTP: m.host.API(ctx)})
		if err != nil {
			return nil, err
		}
		twin, err := c.Entities.Get(ctx, m.host.Oracle)
		if err != nil {
			return nil, err
		}
		return "It is of type " + twin.Type, nil
	}}}
}

func (m *mirror) Routes() []plugin.Route {
	ask := func(r *plugin.Request) (any, error) {
		if m.before != nil {
			m.before()
		}
		m.kept = m.host.API(r.Context())
		return m.ask(r.Context(), m.kept, r.Header.Get("X-Ask"))
	}
	return []plugin.Route{
		{Method: "GET", Path: "/mirror", Summary: "Ask", Serve: ask},
		{Method: "GET", Path: "/mirror/open", Public: true, Summary: "Ask", Serve: ask},
		{Method: "GET", Path: "/mirror/loop", Summary: "Loop", Serve: func(r *plugin.Request) (any, error) {
			m.loops.Add(1)
			return m.ask(r.Context(), m.host.API(r.Context()), "GET /mirror/loop")
		}},
	}
}

func (m *mirror) ask(ctx context.Context, c *http.Client, line string) (any, error) {
	method, path, _ := strings.Cut(line, " ")
	if !strings.HasPrefix(path, "http") {
		path = plugin.Server + path
	}
	req, err := http.NewRequestWithContext(ctx, method, path, http.NoBody)
	if err != nil {
		return nil, err
	}
	// None of these counts: who calls is known.
	req.Header.Set("Authorization", "Bearer "+owner)
	req.Header.Set("X-Api-Key", owner)
	req.Header.Set("X-Forwarded-For", "10.0.0.1")
	res, err := c.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	return plugin.Reply{Status: res.StatusCode, Content: body}, err
}

// keyWith makes an API key with scopes.
func keyWith(t *testing.T, b *app.Built, draft string) (id, text string) {
	t.Helper()
	w := byKey(b, owner).send("POST", "/v1/api-keys", draft)
	var made struct {
		ID  string `json:"id"`
		Key string `json:"key"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &made); err != nil || w.Code != http.StatusCreated {
		t.Fatalf("POST /v1/api-keys %s = %d %s", draft, w.Code, w.Body)
	}
	return made.ID, made.Key
}

// TestPluginAPI: a plugin calls the server with the rights of its caller and no
// others.
func TestPluginAPI(t *testing.T) {
	t.Parallel()
	m := &mirror{}
	b := app.BuildTo(t, owner, io.Discard, nil, m)
	_, reads := keyWith(t, b, `{"name":"reads","scopes":["entities:read"]}`)
	_, writes := keyWith(t, b, `{"name":"surveys","scopes":["surveys:read"]}`)
	narrow := ucan.Capability{Can: "memory/*", With: "ixo:memory"}
	u, err := signer(t, "", "a").Mint(ucan.Draft{Audience: b.OracleDID(), Expires: time.Now().Add(10 * time.Minute), Capabilities: []ucan.Capability{narrow}})
	if err != nil {
		t.Fatal(err)
	}
	signed := chatter{b, []string{"X-Auth-Type", "ucan", "Authorization", "Bearer " + token(t, b, 'a')}}
	part := chatter{b, []string{"X-Ucan-Delegation", u.Text()}}
	for _, tt := range []struct {
		name   string
		by     chatter
		path   string
		ask    string
		status int
		want   string
	}{
		{"a key that may", byKey(b, reads), "/mirror", "GET /v1/entities", 200, `"items"`},
		{"a key that may not", byKey(b, writes), "/mirror", "GET /v1/entities", 403, "SCOPE_MISSING"},
		{"its own conversations", byKey(b, reads), "/mirror", "GET /sessions", 200, `"sessions"`},
		{"a page of the console", byCookie(t, b, owner), "/mirror", "GET /v1/entities", 200, `"items"`},
		{"one who signs", signed, "/mirror", "GET /sessions", 200, `"sessions"`},
		{"one who signs and is in no group", signed, "/mirror", "GET /v1/entities", 403, "SCOPE_MISSING"},
		{"a delegation of something else", part, "/mirror", "GET /v1/entities", 401, "UCAN_INVALID"},
		{"its conversations", part, "/mirror", "GET /sessions", 200, `"sessions"`},
		{"and no grants", part, "/mirror", "PUT /grants/x", 401, "Invalid UCAN"},
		{"nobody", chatter{b, nil}, "/mirror/open", "GET /v1/entities", 401, "UCAN_MISSING"},
		{"nobody, also with a key", byKey(b, owner), "/mirror/open", "GET /v1/entities", 401, "UCAN_MISSING"},
		{"nobody has conversations", byKey(b, owner), "/mirror/open", "GET /sessions", 401, "Missing UCAN"},
		{"what is open to all", chatter{b, nil}, "/mirror/open", "GET /models", 200, `"models"`},
		{"routes of operators", byKey(b, reads), "/mirror", "GET /metrics", 404, ""},
		{"the line", byKey(b, owner), "/mirror", "POST /api/ussd", 404, ""},
		{"another server", byKey(b, owner), "/mirror", "GET http://localhost/v1/entities", 500, "Internal server error"},
	} {
		c := tt.by
		c.headers = append([]string{"X-Ask", tt.ask}, c.headers...)
		if w := c.send("GET", tt.path, ""); w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("%s: %s = %d %s, want %d %s", tt.name, tt.ask, w.Code, w.Body, tt.status, tt.want)
		}
	}
	if _, err := m.ask(t.Context(), m.kept, "GET /v1/entities"); !errors.Is(err, context.Canceled) {
		t.Errorf("the client of a request that is over: %v", err)
	}
	for by, want := range map[string]string{owner: "It is of type oracle", writes: "The tool failed."} {
		if got := byKey(b, by).says(t, byKey(b, by).session(t), `/tool find_self {}`); !strings.Contains(got, want) {
			t.Errorf("the tool = %s, want %s", got, want)
		}
	}
}

// TestPluginAPIAsksAgain: rights are those of the moment, and a plugin that calls
// itself does not do so for ever.
func TestPluginAPIAsksAgain(t *testing.T) {
	t.Parallel()
	m := &mirror{}
	b := app.BuildTo(t, owner, io.Discard, nil, m)
	id, text := keyWith(t, b, `{"name":"reads","scopes":["entities:read"]}`)
	m.before = func() {
		if w := byKey(b, owner).send("DELETE", "/v1/api-keys/"+id, ""); w.Code != 200 {
			t.Errorf("DELETE = %d %s", w.Code, w.Body)
		}
	}
	c := chatter{b, []string{"X-Ask", "GET /v1/entities", "X-API-Key", text}}
	if w := c.send("GET", "/mirror", ""); w.Code != http.StatusUnauthorized || !strings.Contains(w.Body.String(), "KEY_INVALID") {
		t.Errorf("a key that was revoked meanwhile = %d %s", w.Code, w.Body)
	}
	if w := byKey(b, owner).send("GET", "/mirror/loop", ""); w.Code != http.StatusLoopDetected || m.loops.Load() != 4 {
		t.Errorf("a loop = %d %s after %d rounds", w.Code, w.Body, m.loops.Load())
	}
}
