package web_test

import (
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/web"
)

type oneIn struct {
	DID string `path:"did"`
}

type idIn struct {
	DID string `path:"did"`
	ID  string `path:"id"`
}

type twoIn struct {
	DID    string `path:"did"`
	Target string `path:"target"`
}

// didHandler has the routes of a registry; each answers with its name and what
// it was given.
func didHandler(t testing.TB) http.Handler {
	t.Helper()
	a := web.NewAPI(web.APIConfig{Name: "entities", Gate: gate{}})
	one := func(name string) func(context.Context, *oneIn) (string, error) {
		return func(_ context.Context, in *oneIn) (string, error) { return name + " " + in.DID, nil }
	}
	two := func(name string) func(context.Context, *twoIn) (string, error) {
		return func(_ context.Context, in *twoIn) (string, error) { return name + " " + in.DID + " " + in.Target, nil }
	}
	d := web.Doc{Summary: "x", Scope: web.Public}
	web.Get(a, "/v1/entities", func(context.Context, *none) (string, error) { return "list", nil }, d)
	web.Get(a, "/v1/entities/{did}", one("get"), d)
	web.Put(a, "/v1/entities/{did}", one("put"), d)
	web.Get(a, "/v1/entities/{did}/history", one("history"), d)
	web.Post(a, "/v1/entities/{did}/transitions", one("transitions"), d)
	web.Get(a, "/v1/entities/{did}/relationships", one("relationships"), d)
	web.Get(a, "/v1/entities/{did}/relationships/{id}", func(_ context.Context, in *idIn) (string, error) { return "relationship " + in.DID + " " + in.ID, nil }, d)
	web.Delete(a, "/v1/entities/{did}/controllers/{target}", two("controller"), d)
	web.Get(a, "/v1/entities/{did}/path/{target}", two("path"), d)
	web.Get(a, "/v1/entities/{did}/path/{target}/diff", two("diff"), d)
	web.Get(a, "/1.0/identifiers/{did}", one("resolve"), d)
	web.Get(a, "/files/{rest...}", func(context.Context, *none) (string, error) { return "file", nil }, d)
	mux := http.NewServeMux()
	a.Mount(mux)
	known := func(r *http.Request, method string) bool {
		probe := *r
		probe.Method = method
		_, pattern := mux.Handler(&probe)
		return pattern != "" && pattern != "/"
	}
	nest := func(*http.Request) web.ErrorWriter { return web.Problem }
	mux.HandleFunc("/", web.DIDPaths(a.Routes(), mux, known, web.Unknown(nest, known)))
	return mux
}

func TestDIDPaths(t *testing.T) {
	t.Parallel()
	h := didHandler(t)
	for _, tt := range []struct {
		name, target string
		status       int
		want         string // part of the body
	}{
		{"no slash", "GET /v1/entities/did:ixo:entity:1", 200, `"get did:ixo:entity:1"`},
		{"encoded", "GET /v1/entities/did%3Aixo%3Ahousehold%2F123", 200, `"get did:ixo:household/123"`},
		{"encoded, then a sub-route", "GET /v1/entities/did%3Aixo%3Ahousehold%2F123/relationships/rel_7", 200, `"relationship did:ixo:household/123 rel_7"`},
		{"raw", "GET /v1/entities/did:ixo:household/123", 200, `"get did:ixo:household/123"`},
		{"raw, three parts", "GET /v1/entities/did:ixo:a/b/c", 200, `"get did:ixo:a/b/c"`},
		{"raw, then a sub-route", "GET /v1/entities/did:ixo:household/123/history", 200, `"history did:ixo:household/123"`},
		{"raw, then an id", "GET /v1/entities/did:ixo:household/123/relationships/rel_7", 200, `"relationship did:ixo:household/123 rel_7"`},
		{"encoded colons, raw slash", "GET /v1/entities/did%3Aixo%3Ahousehold/123/history", 200, `"history did:ixo:household/123"`},
		{"one slash of each", "GET /v1/entities/did:ixo:a%2Fb/c/history", 200, `"history did:ixo:a/b/c"`},
		{"two DIDs", "DELETE /v1/entities/did:ixo:org/1/controllers/did:ixo:user/2", 200, `"controller did:ixo:org/1 did:ixo:user/2"`},
		{"two DIDs, the first plain", "GET /v1/entities/did:ixo:1/path/did:ixo:user/2", 200, `"path did:ixo:1 did:ixo:user/2"`},
		{"two DIDs, the second plain", "GET /v1/entities/did:ixo:a/1/path/did:ixo:2", 200, `"path did:ixo:a/1 did:ixo:2"`},
		{"two DIDs and more", "GET /v1/entities/did:ixo:a/1/path/did:ixo:b/2/diff", 200, `"diff did:ixo:a/1 did:ixo:b/2"`},
		{"resolver", "GET /1.0/identifiers/did:ixo:entity/device-123", 200, `"resolve did:ixo:entity/device-123"`},
		{"HEAD", "HEAD /v1/entities/did:ixo:household/123", 200, ``},
		{"the query stays", "GET /v1/entities/did:ixo:household/123?nope=1", 400, `query/nope`},
		{"a word of a sub-route means it", "GET /v1/entities/did:ixo:device/history", 200, `"history did:ixo:device"`},
		{"unless encoded", "GET /v1/entities/did:ixo:device%2Fhistory", 200, `"get did:ixo:device/history"`},
		{"not where it stands", "GET /v1/entities/did:ixo:a/history/b", 200, `"get did:ixo:a/history/b"`},
		{"escapes in a DID stay", "GET /v1/entities/did:web:x.org%253A80/a", 200, `"get did:web:x.org%3A80/a"`},
		{"wrong method, direct", "GET /v1/entities/did:ixo:a/transitions", 405, `METHOD_NOT_ALLOWED`},
		{"wrong method, raw", "DELETE /v1/entities/did:ixo:household/123", 405, `METHOD_NOT_ALLOWED`},
		{"wrong method, raw sub-route", "GET /v1/entities/did:ixo:household/1/transitions", 405, `METHOD_NOT_ALLOWED`},
		{"no DID", "GET /v1/entities/x/y", 404, `ROUTE_NOT_FOUND`},
		{"DID where none belongs", "GET /v1/did:ixo:a/b", 404, `ROUTE_NOT_FOUND`},
		{"no such route", "GET /v2/entities/did:ixo:a/b", 404, `ROUTE_NOT_FOUND`},
		{"bad DID", "GET /v1/entities/did:IXO:a/b", 404, `ROUTE_NOT_FOUND`},
		{"bad character", "GET /v1/entities/did:ixo:a/b%20c", 404, `ROUTE_NOT_FOUND`},
		{"NUL", "GET /v1/entities/did:ixo:a/b%00", 404, `ROUTE_NOT_FOUND`},
		{"not text", "GET /v1/entities/did:ixo:a/%ff", 404, `ROUTE_NOT_FOUND`},
		{"slash at the end", "GET /v1/entities/did:ixo:a/b/", 404, `ROUTE_NOT_FOUND`},
		{"encoded empty part", "GET /v1/entities/did:ixo:a%2F%2Fb/c", 404, `ROUTE_NOT_FOUND`},
		{"encoded dots", "GET /v1/entities/did:ixo:a%2F%2e%2e%2Fx/b", 404, `ROUTE_NOT_FOUND`},
		{"dots after the method", "GET /v1/entities/did:..%2Fx/b", 404, `ROUTE_NOT_FOUND`},
		{"encoded twice is no slash", "GET /v1/entities/did:ixo:a%252Fb/c", 200, `"get did:ixo:a%2Fb/c"`},
		{"files take slashes as they are", "GET /files/did:ixo:a/b", 200, `"file"`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			method, target, _ := strings.Cut(tt.target, " ")
			w := call(h, method, target, "")
			if w.Code != tt.status || !strings.Contains(w.Body.String(), tt.want) {
				t.Errorf("%s = %d %s, want %d with %s", tt.target, w.Code, w.Body, tt.status, tt.want)
			}
		})
	}
}

func TestDIDPathAllow(t *testing.T) {
	t.Parallel()
	w := call(didHandler(t), "DELETE", "/v1/entities/did:ixo:household/123", "")
	if got := w.Header().Get("Allow"); got != "GET, PUT" {
		t.Errorf("Allow = %q, want GET, PUT", got)
	}
}

// TestDIDPathRoute holds that log and metrics see the pattern, never the DID.
func TestDIDPathRoute(t *testing.T) {
	t.Parallel()
	var seen []string
	h := web.Observe(slog.New(slog.DiscardHandler), web.Problem, func(_ *http.Request, s web.Seen) { seen = append(seen, s.Route) }, didHandler(t))
	call(h, "GET", "/v1/entities/did:ixo:household/123/history", "")
	call(h, "GET", "/v1/entities/did:ixo:household/%20", "")
	if got, want := strings.Join(seen, " "), "/v1/entities/{did}/history unmatched"; got != want {
		t.Errorf("routes = %s, want %s", got, want)
	}
}

// TestDIDPathsStayCheap sends paths made to be tried over and over.
func TestDIDPathsStayCheap(t *testing.T) {
	t.Parallel()
	h := didHandler(t)
	for name, path := range map[string]string{
		"1,000 parts":         "/v1/entities/did:ixo:a" + strings.Repeat("/b", 1000),
		"1,000 DIDs":          "/v1/entities" + strings.Repeat("/did:ixo:a", 1000),
		"60 DIDs":             "/v1/entities" + strings.Repeat("/did:ixo:a", 60),
		"60 words":            "/v1/entities/did:ixo:a" + strings.Repeat("/path", 60),
		"DIDs and words":      "/v1/entities" + strings.Repeat("/did:ixo:a/path", 30) + "/diff",
		"a long DID":          "/v1/entities/did:ixo:" + strings.Repeat("a", 100_000) + "/b",
		"a million slashes":   "/v1/entities/did:ixo:a" + strings.Repeat("/", 1_000_000),
		"parts of one escape": "/v1/entities/did:ixo:a" + strings.Repeat("/%2F", 60),
	} {
		start := time.Now()
		for range 10 {
			r := &http.Request{Method: "GET", URL: &url.URL{Path: unescape(t, path), RawPath: path}, Header: http.Header{}}
			w := httptest.NewRecorder()
			if strings.HasSuffix(path, "//") {
				// The edge refuses it; the mux would redirect.
				continue
			}
			h.ServeHTTP(w, r)
			if w.Code != 404 && w.Code != 200 {
				t.Errorf("%s = %d", name, w.Code)
			}
		}
		if d := time.Since(start); d > 10*time.Second {
			t.Errorf("%s: 10 requests took %s", name, d)
		}
	}
}

func unescape(t testing.TB, s string) string {
	t.Helper()
	out, err := url.PathUnescape(s)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzDIDPaths holds what the respelling promises: a route sees only what the
// path decodes to, and a DID it sees with a slash is one.
func FuzzDIDPaths(f *testing.F) {
	for _, s := range []string{
		"did:ixo:household/123", "did:ixo:household/123/history", "did%3Aixo%3Aa%2Fb/relationships/rel_7", "did:ixo:a/1/path/did:ixo:b/2",
		"did:../x", "did:ixo:a/%2e%2e/b", "did:ixo:a%2f%2fb/c", "did:ixo:a/b%252Fc", "did:ixo:a/", "x/did:ixo:a/b",
	} {
		f.Add(s)
	}
	h := didHandler(f)
	f.Fuzz(func(t *testing.T, rest string) {
		raw := "/v1/entities/" + rest
		u, err := url.ParseRequestURI(raw)
		if err != nil || strings.Contains(u.Path, "//") || strings.Contains(u.Path+"/", "/./") || strings.Contains(u.Path+"/", "/../") {
			return // the edge refuses these
		}
		r := httptest.NewRequest("GET", "/", nil)
		r.URL = u
		before := *u
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if *r.URL != before {
			t.Fatalf("the caller's URL was changed: %v", r.URL)
		}
		if w.Code != 200 {
			return
		}
		words := strings.Split(strings.Trim(w.Body.String(), `"`), " ")
		for _, word := range words[1:] {
			if strings.HasPrefix(word, "did:") && strings.Contains(word, "/") && !strings.Contains(rest, "%") {
				if _, err := did.Parse(word); err != nil {
					t.Fatalf("%q reached a route as %q", raw, word)
				}
			}
		}
	})
}
