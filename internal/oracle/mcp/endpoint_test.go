package mcp_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/lookup"
	"github.com/hearth-dmrv/hearth/internal/oracle/mcp"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// door lets in whoever has the key "good".
type door struct{}

func (door) Admit(_ http.Header, r *http.Request, _ web.Scope) (web.Caller, error) {
	if r.Header.Get("Authorization") != "Bearer good" {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "An API key is needed.")
	}
	return web.Caller{Workspace: "ws", DID: "did:key:a", Key: "key_1"}, nil
}

func named(name string, spec tool.Spec, do func(ctx context.Context) (tool.Output, error)) tool.Tool {
	spec.Name = name
	return tool.Func{Describe: spec, Do: func(ctx context.Context, _ tool.Call) (tool.Output, error) { return do(ctx) }}
}

// world is a server with tools that behave in all ways.
type world struct {
	url     string
	begun   chan struct{} // a slow tool is at work
	ended   chan struct{} // it was stopped
	called  atomic.Int64
	release chan struct{} // ends the tool "wait"
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{begun: make(chan struct{}, 1), ended: make(chan struct{}, 1), release: make(chan struct{})}
	readOnly := tool.Spec{ReadOnly: true, Description: "x"}
	tools := []tool.Tool{
		named("count", tool.Spec{ReadOnly: true, Schema: jsontext.Value(`{"type":"object","properties":{"n":{"type":"integer"}}}`), Output: jsontext.Value(`{"type":"object"}`)},
			func(ctx context.Context) (tool.Output, error) {
				w.called.Add(1)
				return tool.Output{Data: jsontext.Value(`{"user":"` + tool.From(ctx).User + `","key":"` + tool.From(ctx).Caller.Key + `"}`)}, nil
			}),
		named("slow", readOnly, func(ctx context.Context) (tool.Output, error) {
			w.begun <- struct{}{}
			<-ctx.Done()
			w.ended <- struct{}{}
			return tool.Output{}, ctx.Err()
		}),
		named("wait", tool.Spec{ReadOnly: true, Outside: true}, func(ctx context.Context) (tool.Output, error) {
			select {
			case <-w.release:
			case <-ctx.Done():
			}
			return tool.Output{Text: "done"}, nil
		}),
		named("broken", readOnly, func(context.Context) (tool.Output, error) { return tool.Output{}, errors.New("canary of the inside") }),
		named("panics", readOnly, func(context.Context) (tool.Output, error) { panic("canary of the inside") }),
		named("refuses", readOnly, func(context.Context) (tool.Output, error) {
			return tool.Output{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "You have no right to see this.")
		}),
		named("writes", tool.Spec{}, func(context.Context) (tool.Output, error) { return tool.Output{}, nil }),
		named("talk", tool.Spec{ReadOnly: true, Session: true}, func(context.Context) (tool.Output, error) { return tool.Output{}, nil }),
		named("page", tool.Spec{ReadOnly: true, Kind: tool.Browser}, func(context.Context) (tool.Output, error) { return tool.Output{}, nil }),
		named(tool.LoadName, readOnly, func(context.Context) (tool.Output, error) { return tool.Output{}, nil }),
	}
	s := mcp.NewEndpoint(mcp.EndpointConfig{
		Tools: func(context.Context) []tool.Tool { return tools }, Public: "https://hearth.example.org", Version: "1",
		Origin: func(origin string) bool { return origin == "https://friend.example.org" },
		Source: lookup.Source{AsUser: func(ctx context.Context, _ string) (context.Context, error) {
			return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "No.")
		}},
		ReadSurvey: func(context.Context, string) ([]byte, error) { return nil, errors.New("never asked") },
	})
	api := web.NewAPI(web.APIConfig{Gate: door{}})
	s.Routes(api)
	mux := http.NewServeMux()
	api.Mount(mux)
	srv := httptest.NewServer(mux)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	w.url = srv.URL + "/mcp"
	return w
}

// withKey sends a key with every request.
type withKey struct{ key string }

func (k withKey) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+k.key)
	return http.DefaultTransport.RoundTrip(r)
}

func (w *world) connect(t *testing.T, o *sdk.ClientOptions, version string) *sdk.ClientSession {
	t.Helper()
	c := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, o)
	s, err := c.Connect(t.Context(), &sdk.StreamableClientTransport{Endpoint: w.url, HTTPClient: &http.Client{Transport: withKey{"good"}}, MaxRetries: -1}, &sdk.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// versions of the protocol that clients speak today.
var versions = []string{"2025-06-18", "2025-11-25", "2026-07-28"}

func TestTools(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			s := w.connect(t, nil, version)
			list, err := s.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, one := range list.Tools {
				names = append(names, one.Name)
				if a := one.Annotations; a == nil || !a.ReadOnlyHint || a.DestructiveHint == nil || *a.DestructiveHint || *a.OpenWorldHint != (one.Name == "wait") {
					t.Errorf("annotations of %s = %+v", one.Name, a)
				}
				if (one.OutputSchema != nil) != (one.Name == "count") {
					t.Errorf("%s: output schema %v", one.Name, one.OutputSchema)
				}
			}
			if got, want := strings.Join(names, " "), "broken count panics refuses slow wait"; got != want {
				t.Errorf("tools = %s, want %s: those that write, of pages, and of conversations are not for others", got, want)
			}
			for _, tt := range []struct {
				name string
				args any
				want string
				bad  bool
			}{
				{"count", map[string]any{"n": 1}, `{"user":"did:key:a","key":"key_1"}`, false},
				{"count", map[string]any{"n": "one"}, "The arguments do not fit the schema: /n", true},
				{"refuses", nil, "You have no right to see this.", true},
				{"broken", nil, "The tool failed.", true},
				{"panics", nil, "The tool failed.", true},
			} {
				res, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tt.name, Arguments: tt.args})
				if err != nil {
					t.Fatalf("%s: %v", tt.name, err)
				}
				text := res.Content[0].(*sdk.TextContent).Text //nolint:forcetypeassert // a wrong one fails the test
				if res.IsError != tt.bad || !strings.HasPrefix(text, tt.want) || strings.Contains(text, "canary") {
					t.Errorf("%s(%v) = %q, error %v", tt.name, tt.args, text, res.IsError)
				}
				if !tt.bad && res.StructuredContent == nil {
					t.Errorf("%s gives no object", tt.name)
				}
			}
			if _, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: "writes"}); err == nil {
				t.Error("a tool that writes is called")
			}
		})
	}
}

func TestProgressAndCancelling(t *testing.T) {
	t.Parallel()
	for _, version := range versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			heard := make(chan float64, 100)
			s := w.connect(t, &sdk.ClientOptions{ProgressNotificationHandler: func(_ context.Context, r *sdk.ProgressNotificationClientRequest) {
				heard <- r.Params.Progress
			}}, version)
			params := &sdk.CallToolParams{Name: "wait"}
			params.SetProgressToken("p")
			over := make(chan error, 1)
			go func() { _, err := s.CallTool(t.Context(), params); over <- err }()
			if first, second := <-heard, <-heard; second <= first {
				t.Errorf("progress %v, then %v", first, second)
			}
			close(w.release)
			if err := <-over; err != nil {
				t.Error(err)
			}

			ctx, cancel := context.WithCancel(t.Context())
			go func() { <-w.begun; cancel() }()
			if _, err := s.CallTool(ctx, &sdk.CallToolParams{Name: "slow"}); !errors.Is(err, context.Canceled) {
				t.Errorf("a cancelled call = %v", err)
			}
			select {
			case <-w.ended:
			case <-time.After(20 * time.Second): // the tool itself would go on for 30
				t.Error("a cancelled tool goes on")
			}
		})
	}
}

func (w *world) post(t *testing.T, body string, header ...string) (int, string, http.Header) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.url, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Authorization", "Bearer good")
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(text), res.Header
}

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestDoor(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if code, _, h := w.post(t, ping, "Authorization", ""); code != 401 || h.Get("WWW-Authenticate") == "" {
		t.Errorf("without a key = %d, %v", code, h)
	}
	host := strings.TrimSuffix(strings.TrimPrefix(w.url, "http://"), "/mcp")
	for origin, want := range map[string]int{
		"https://evil.example": 403, "null": 403, "https://hearth.example.org.evil.example": 403, "http://" + host + ".evil.example": 403, "file://" + host: 403,
		"https://friend.example.org": 200, "https://hearth.example.org": 200, "http://" + host: 200,
	} {
		if code, text, _ := w.post(t, ping, "Origin", origin); code != want {
			t.Errorf("Origin %s = %d %s, want %d", origin, code, text, want)
		}
	}
	if code, text, _ := w.post(t, ping); code != 200 || !strings.Contains(text, `"id":1`) {
		t.Errorf("ping = %d %s", code, text)
	}
	if code, _, _ := w.post(t, `{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"`+strings.Repeat("x", 2<<20)+`"}}`); code != 413 {
		t.Errorf("a large body = %d, want 413", code)
	}
	for _, bad := range []string{
		`"method":"tools/list","params":[]`, `"method":"tools/call","params":{"name":7}`, `"method":"initialize","params":[]`, `"method":7`,
	} {
		if _, text, _ := w.post(t, `{"jsonrpc":"2.0","id":1,`+bad+`}`); strings.Contains(text, "Go ") || strings.Contains(text, "mcp.") || !strings.Contains(text, "not of the type that is wanted") {
			t.Errorf("%s = %s, which names types of ours", bad, text)
		}
	}
	for _, bad := range []string{`{`, ``, `[]`, `7`, `{"jsonrpc":"1.0","method":"ping"}`} {
		if code, text, h := w.post(t, bad); code != 400 || !strings.Contains(text, "MCP_REQUEST_INVALID") || h.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%q = %d %s %v, want a problem", bad, code, text, h)
		}
	}
	res, err := http.Get(w.url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	if res.StatusCode != 405 {
		t.Errorf("GET = %d, want 405: it keeps no session", res.StatusCode)
	}
}

// TestFlood has one request hold many messages: a few are answered, more are
// refused, whatever they ask for.
func TestFlood(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	batch := func(n int, rest string) string {
		var all []string
		for i := range n {
			all = append(all, fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,%s}`, i+1, rest))
		}
		return "[" + strings.Join(all, ",") + "]"
	}
	for _, rest := range []string{`"method":"tools/call","params":{"name":"count","arguments":{}}`, `"method":"resources/list"`, `"method":"completion/complete"`} {
		if code, text, _ := w.post(t, " "+batch(21, rest), "MCP-Protocol-Version", "2025-03-26"); code != 400 || !strings.Contains(text, "MCP_REQUEST_INVALID") || w.called.Load() != 0 {
			t.Errorf("21 times %s = %d %.300s", rest, code, text)
		}
	}
	if code, text, _ := w.post(t, batch(20, `"method":"tools/call","params":{"name":"count","arguments":{}}`), "MCP-Protocol-Version", "2025-03-26"); code != 200 || w.called.Load() != 20 {
		t.Errorf("20 calls = %d %.300s, %d were made", code, text, w.called.Load())
	}
}

func TestForbiddenLists(t *testing.T) {
	t.Parallel()
	s := newWorld(t).connect(t, nil, "2025-11-25")
	list, err := s.ListResources(t.Context(), nil)
	if err != nil || len(list.Resources) != 0 || list.NextCursor != "" {
		t.Errorf("resources of somebody who may read nothing = %+v, %v", list, err)
	}
	if _, err := s.ReadResource(t.Context(), &sdk.ReadResourceParams{URI: "hearth://twins/did:ixo:entity:1"}); err == nil {
		t.Error("somebody who may read nothing reads a twin")
	}
	if _, err := s.ListResources(t.Context(), &sdk.ListResourcesParams{Cursor: "x.y"}); err == nil {
		t.Error("a made-up cursor is accepted")
	}
}
