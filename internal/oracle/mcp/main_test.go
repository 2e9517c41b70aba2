package mcp_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/mcp"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/outbound"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// asProgram is the variable that makes the test binary an MCP server on stdio.
const asProgram = "HEARTH_TEST_MCP"

func TestMain(m *testing.M) {
	if os.Getenv(asProgram) != "" {
		if err := testServer().Run(context.Background(), &sdk.StdioTransport{}); err != nil {
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

type nothing struct{}

func said(text string) (*sdk.CallToolResult, any, error) {
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}}, nil, nil
}

// testServer has a tool for each way a server can behave.
func testServer() *sdk.Server {
	s := sdk.NewServer(&sdk.Implementation{Name: "test", Version: "1"}, nil)
	sdk.AddTool(s, &sdk.Tool{Name: "greet", Description: "Greets somebody."},
		func(_ context.Context, _ *sdk.CallToolRequest, in struct {
			Name string `json:"name"`
		},
		) (*sdk.CallToolResult, any, error) {
			return said("Hello " + in.Name)
		})
	sdk.AddTool(s, &sdk.Tool{Name: "sum"}, func(context.Context, *sdk.CallToolRequest, nothing) (*sdk.CallToolResult, struct {
		Sum int `json:"sum"`
	}, error,
	) {
		return nil, struct {
			Sum int `json:"sum"`
		}{3}, nil
	})
	plain := func(name string, do func(ctx context.Context) (*sdk.CallToolResult, any, error)) {
		sdk.AddTool(s, &sdk.Tool{Name: name}, func(ctx context.Context, _ *sdk.CallToolRequest, _ nothing) (*sdk.CallToolResult, any, error) {
			return do(ctx)
		})
	}
	plain("environment", func(context.Context) (*sdk.CallToolResult, any, error) { return said(strings.Join(os.Environ(), "\n")) })
	plain("crash", func(context.Context) (*sdk.CallToolResult, any, error) { os.Exit(3); return nil, nil, nil })
	plain("hang", func(ctx context.Context) (*sdk.CallToolResult, any, error) { <-ctx.Done(); return nil, nil, ctx.Err() })
	plain("fail", func(context.Context) (*sdk.CallToolResult, any, error) {
		return nil, nil, errors.New("the tank is empty")
	})
	plain("huge", func(context.Context) (*sdk.CallToolResult, any, error) { return said(strings.Repeat("x", 6<<20)) })
	plain("picture", func(context.Context) (*sdk.CallToolResult, any, error) {
		return &sdk.CallToolResult{Content: []sdk.Content{&sdk.ImageContent{MIMEType: "image/png", Data: []byte("png")}}}, nil, nil
	})
	return s
}

// house is a service with what surrounds it.
type house struct {
	t       *testing.T
	service *mcp.Service
	db      *db.DB
	log     *event.Log

	mu     sync.Mutex
	caller web.Caller // who the user of a run is now
	claims func(token, can, with string) error
}

func (h *house) as(c web.Caller) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.caller = c
}

const oracleDID = "did:ixo:entity:oracle"

// member may use tools, and nothing else.
func member(ws string) web.Caller {
	return web.Caller{Workspace: ws, DID: "did:key:member", Scopes: []string{"oracle:tools"}}
}

// owner is a context of somebody who may do everything in a workspace.
func owner(t *testing.T, ws string) context.Context {
	t.Helper()
	return web.WithCaller(t.Context(), web.Caller{Workspace: ws, DID: "did:key:owner", Scopes: []string{"*"}})
}

// newHouse makes a service; allow lists what servers of workspaces may be in spite of
// where they are.
func newHouse(t *testing.T, d *db.DB, allow []string, servers ...mcp.Server) *house {
	t.Helper()
	h := &house{t: t, db: d, log: event.New(event.Config{DB: d, Cursors: eventtest.Cursors()}), caller: member("default")}
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	client := func(allow ...string) *outbound.Client {
		c, err := outbound.New(outbound.Config{Allow: allow, Timeout: 20 * time.Second, HeaderTimeout: 20 * time.Second, MaxBytes: 4 << 20, MaxRedirects: -1})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(c.Close)
		return c
	}
	for i := range servers {
		servers[i].Origin = mcp.Operator
		if servers[i].Workspaces == nil {
			servers[i].Workspaces = []string{"default"}
		}
	}
	h.service = mcp.New(t.Context(), mcp.Config{
		DB: d, Events: h.log, Key: key, Cursors: eventtest.Cursors(), OracleDID: oracleDID, Servers: servers,
		Trusted: client("127.0.0.0/8"), Guarded: client(allow...), AsUser: h.asUser,
		Claims: func(_ context.Context, _, token, can, with string) error {
			if h.claims == nil {
				return errors.New("no")
			}
			return h.claims(token, can, with)
		},
		Taken: func(_ context.Context, name string) bool { return name == "clash__greet" },
	})
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		if err := h.service.Close(ctx); err != nil {
			t.Errorf("Close() = %v: something goes on", err)
		}
	})
	return h
}

func (h *house) asUser(ctx context.Context, scope string) (context.Context, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.caller.May(scope) {
		return nil, fault.New(fault.Forbidden, "SCOPE_MISSING", "You have no right to see this.")
	}
	return web.WithCaller(ctx, h.caller), nil
}

// run is the context of a run.
func (h *house) run() context.Context {
	return tool.With(h.t.Context(), tool.Context{User: "did:key:member", RunID: "run-1"})
}

// find finds a tool of a run, nil when the run is not offered it. Servers may need a
// while on a busy machine.
func (h *house) find(name string) tool.Tool {
	h.t.Helper()
	for end := time.Now().Add(60 * time.Second); ; {
		for _, one := range h.service.ForRun(h.run()) {
			if one.Spec().Name == name {
				return one
			}
		}
		if time.Now().After(end) {
			h.t.Fatalf("no run is offered %s", name)
		}
	}
}

// call has a run call a tool.
func (h *house) call(ctx context.Context, name, args string) tool.Output {
	h.t.Helper()
	out, err := h.find(name).Run(ctx, tool.Call{ID: "1", Name: name, Args: []byte(args)})
	if err != nil {
		h.t.Logf("%s: %v", name, err)
		return tool.Output{Err: fmt.Sprint("failed: ", err)}
	}
	return out
}

// put makes a server of a workspace.
func (h *house) put(ws, name, url string, headers map[string]string) {
	h.t.Helper()
	if _, err := h.service.Put(owner(h.t, ws), name, api.MCPServerDraft{URL: url, Headers: headers}); err != nil {
		h.t.Fatal(err)
	}
}

// grant grants a tool as it is.
func (h *house) grant(ws, server, name string) {
	h.t.Helper()
	all, err := h.service.Tools(owner(h.t, ws), server)
	if err != nil {
		h.t.Fatal(err)
	}
	for _, one := range all {
		if one.Name == name {
			if _, err := h.service.Grant(owner(h.t, ws), server, name, one.Hash); err != nil {
				h.t.Fatal(err)
			}
			return
		}
	}
	h.t.Fatalf("%s has no tool %s", server, name)
}

// overHTTP serves s on loopback.
func overHTTP(t *testing.T, s *sdk.Server, around func(http.Handler) http.Handler) string {
	t.Helper()
	var handler http.Handler = sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return s }, nil)
	if around != nil {
		handler = around(handler)
	}
	srv := httptest.NewServer(handler)
	t.Cleanup(func() { srv.CloseClientConnections(); srv.Close() })
	return srv.URL
}
