package app

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type didPath struct {
	DID string `path:"did"`
}

// edgeOf is the edge in front of a few public routes. It notes the routes that
// the log and the metrics see.
func edgeOf(t *testing.T, perMinute int) (h http.Handler, seen func() []string) {
	t.Helper()
	return edgeAs(t, perMinute, shapeAll)
}

// edgeAs is edgeOf on a listener of another shape.
func edgeAs(t *testing.T, perMinute int, sh shape) (h http.Handler, seen func() []string) {
	t.Helper()
	cfg := config.Default()
	cfg.Limits.AddressRateLimit = perMinute
	var mu sync.Mutex
	var routes []string
	e, err := newEdge(cfg, slog.New(slog.DiscardHandler), func(_ *http.Request, s web.Seen) {
		mu.Lock()
		defer mu.Unlock()
		routes = append(routes, s.Route)
	}, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	a := web.NewAPI(web.APIConfig{Name: "twins"})
	say := func(name string) func(context.Context, *didPath) (string, error) {
		return func(_ context.Context, in *didPath) (string, error) { return name + " " + in.DID, nil }
	}
	d := web.Doc{Summary: "x", Scope: web.Public}
	web.Get(a, "/v1/entities/{did}", say("get"), d)
	web.Get(a, "/v1/entities/{did}/history", say("history"), d)
	web.Get(a, "/1.0/identifiers/{did}", say("resolve"), d)
	web.Get(a, "/health", func(context.Context, *nothing) (string, error) { return "ok", nil }, d)
	return e.handler([]*web.API{a}, sh), func() []string { mu.Lock(); defer mu.Unlock(); return routes }
}

func ask(h http.Handler, method, target string) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	return w
}

func TestEdgeDIDPaths(t *testing.T) {
	t.Parallel()
	h, _ := edgeOf(t, 0)
	for _, tt := range []struct {
		path   string
		status int
		want   string
	}{
		{"/v1/entities/did:ixo:household/123", 200, `"get did:ixo:household/123"`},
		{"/v1/entities/did%3Aixo%3Ahousehold%2F123", 200, `"get did:ixo:household/123"`},
		{"/v1/entities/did%3Aixo%3Ahousehold%2f123/history", 200, `"history did:ixo:household/123"`},
		{"/v1/entities/did:ixo:household/123/history", 200, `"history did:ixo:household/123"`},
		{"/1.0/identifiers/did:ixo:entity/device-123", 200, `"resolve did:ixo:entity/device-123"`},
		{"/v1/entities/did:ixo:a/../b", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:ixo:a/%2e%2e/b", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:ixo:a/.%2e/.%2e/health", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:ixo:a%2f..%2f..%2fhealth", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:ixo:a%2F%2Fb", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:ixo:a//b", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities//did:ixo:a/b", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:../x", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:ixo:a/b/", 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:ixo:a" + strings.Repeat("/b", 1000), 404, "ROUTE_NOT_FOUND"},
		{"/v1/entities/did:ixo:" + strings.Repeat("a", 5000) + "/b", 404, "ROUTE_NOT_FOUND"},
		{"/did:ixo:a/b", 404, "Cannot GET"},
	} {
		w := ask(h, "GET", tt.path)
		if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
			t.Errorf("GET %.60s = %d %s, want %d with %s", tt.path, w.Code, w.Body, tt.status, tt.want)
		}
		if w.Header().Get("Location") != "" {
			t.Errorf("GET %.60s redirects to %s", tt.path, w.Header().Get("Location"))
		}
	}
}

func TestEdgeNamesThePattern(t *testing.T) {
	t.Parallel()
	h, seen := edgeOf(t, 0)
	ask(h, "GET", "/v1/entities/did:ixo:household/123/history")
	ask(h, "GET", "/1.0/identifiers/did:ixo:household/123")
	ask(h, "POST", "/1.0/identifiers/did:ixo:household/123")
	if got, want := strings.Join(seen(), " "), "/v1/entities/{did}/history /1.0/identifiers/{did} unmatched"; got != want {
		t.Errorf("routes = %s, want %s", got, want)
	}
}

// TestEdgeLimitsPublicDocuments holds that what anyone may read is counted by
// address, once however it is spelled, and apart from health.
func TestEdgeLimitsPublicDocuments(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/1.0/identifiers/did:ixo:a/b", "/entities/x/did.json", "/.well-known/did.json", "/v1/entities/did:ixo:a/b"} {
		h, _ := edgeOf(t, 3)
		for range 3 {
			if got := ask(h, "GET", path).Code; got == http.StatusTooManyRequests {
				t.Errorf("GET %s is refused inside its limit", path)
			}
		}
		w := ask(h, "GET", path)
		if w.Code != http.StatusTooManyRequests || w.Header().Get("Retry-After") == "" {
			t.Errorf("GET %s past the limit = %d, want 429 with Retry-After", path, w.Code)
		}
		if got := ask(h, "GET", "/health").Code; got != http.StatusOK {
			t.Errorf("GET /health = %d, want 200", got)
		}
	}
}

// TestEdgeLimitsProbes holds that / and /health have a counter of their own
// where area C is: 100 a minute, whatever else the address asks for.
func TestEdgeLimitsProbes(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		sh   shape
		want int
	}{{"merged", shapeAll, 429}, {"USSD", shapeUSSD, 429}, {"oracle", shapeOracle, 200}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h, _ := edgeAs(t, 0, tt.sh)
			for range 200 {
				ask(h, "GET", "/v1/entities/did:ixo:a/b")
			}
			for i := range 100 {
				if got := ask(h, "GET", "/health").Code; got != 200 {
					t.Fatalf("GET /health, time %d = %d, want 200", i+1, got)
				}
			}
			w := ask(h, "GET", "/health")
			if w.Code != tt.want || (w.Header().Get("Retry-After") != "") != (tt.want == 429) {
				t.Errorf("GET /health past the limit = %d, Retry-After %q; want %d", w.Code, w.Header().Get("Retry-After"), tt.want)
			}
		})
	}
}
