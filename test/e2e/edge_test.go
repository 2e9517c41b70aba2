package e2e

import (
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/client"
	"github.com/hearth-dmrv/hearth/test/server"
)

// seen is one request and what must come back.
type seen struct {
	name, method, path string
	key                string // of the caller; empty is none
	head               []string
	status             int
	media              string
	body               string // a part of it
}

// edgeCases are answered by the edge in front of the routes.
func edgeCases(key string) []seen {
	const problem, plain, nest = "application/problem+json", "text/plain; charset=utf-8", "application/json; charset=utf-8"
	return []seen{
		{"unknown under /v1", "GET", "/v1/none", "", nil, 404, problem, `"code":"ROUTE_NOT_FOUND"`},
		{"unknown under /v1, with a key", "POST", "/v1/none", key, nil, 404, problem, `"instance":"/v1/none"`},
		{"/v1 itself", "GET", "/v1", "", nil, 200, "application/json", `"apiVersion":"v1"`},
		{"/v1 with a slash", "GET", "/v1/", "", nil, 404, problem, `"code":"ROUTE_NOT_FOUND"`},
		{"like /v1", "GET", "/v1x", "", nil, 404, nest, `{"message":"Cannot GET /v1x","error":"Not Found","statusCode":404}`},
		{"unknown under /api", "POST", "/api/none", "", nil, 404, plain, "END "},
		{"unknown elsewhere", "GET", "/none", "", nil, 404, nest, `{"message":"Cannot GET /none","error":"Not Found","statusCode":404}`},
		{"unknown elsewhere, with a key", "DELETE", "/none", key, nil, 404, nest, `{"message":"Cannot DELETE /none"`},
		{"two slashes", "GET", "/v1//api-keys", key, nil, 404, problem, "ROUTE_NOT_FOUND"},
		{"dots", "GET", "/v1/../metrics", key, nil, 404, "", ""},
		{"slash at the end", "GET", "/v1/api-keys/", key, nil, 404, problem, ""},
		{"wrong method", "PUT", "/v1/api-keys", key, nil, 405, problem, `"code":"METHOD_NOT_ALLOWED"`},
		{"no key", "GET", "/v1/api-keys", "", nil, 401, problem, `"code":"KEY_MISSING"`},
		{"wrong key", "GET", "/v1/api-keys", "hearth_aaaaaaaaaa_" + strings.Repeat("a", 43), nil, 401, problem, `"code":"KEY_INVALID"`},
		{"unknown query", "GET", "/v1/api-keys?limt=3", key, nil, 400, problem, `query/limt`},
		{"metrics through a proxy", "GET", "/metrics", "", []string{"X-Forwarded-For", "198.51.100.7"}, 404, nest, "Cannot GET /metrics"},
		{"metrics through a proxy, with a key", "GET", "/metrics", key, []string{"X-Forwarded-For", "198.51.100.7"}, 200, "", "hearth_"},
	}
}

var ownID = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$`)

func TestEdge(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	for i, tt := range edgeCases(s.Key) {
		t.Run(tt.name, func(t *testing.T) {
			c := s.Client(1)
			c.Key = tt.key
			defer c.Close()
			id := "e2e." + string(rune('a'+i)) + "-1_2"
			got, err := c.Do(t.Context(), tt.method, tt.path, nil, append([]string{"X-Request-Id", id}, tt.head...)...)
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tt.status || !strings.Contains(string(got.Body), tt.body) {
				t.Errorf("%s %s = %d %s, want %d with %s", tt.method, tt.path, got.Status, got.Body, tt.status, tt.body)
			}
			if media := got.Header.Get("Content-Type"); tt.media != "" && media != tt.media {
				t.Errorf("Content-Type = %q, want %q", media, tt.media)
			}
			if echo := got.Header.Get("X-Request-Id"); echo != id {
				t.Errorf("X-Request-Id = %q, want %q as sent", echo, id)
			}
			checkHeaders(t, got.Header)
			if challenge := got.Header.Get("WWW-Authenticate"); (got.Status == 401) != (challenge != "") {
				t.Errorf("status %d with WWW-Authenticate %q", got.Status, challenge)
			}
			if allow := got.Header.Get("Allow"); got.Status == 405 && allow != "GET, POST" {
				t.Errorf("Allow = %q, want GET, POST", allow)
			}
		})
	}
}

// checkHeaders looks for what every answer of an API carries.
func checkHeaders(t *testing.T, h http.Header) {
	t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "Cross-Origin-Resource-Policy": "same-origin", "Cache-Control": "no-store",
		"Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
	} {
		if got := h.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if got := h.Get("Server") + h.Get("X-Powered-By"); got != "" {
		t.Errorf("the answer tells about the software: %q", got)
	}
}

func TestRequestIDs(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{})
	c := s.Client(1)
	defer c.Close()
	for _, path := range []string{"/health", "/v1/api-keys", "/none", "/api/none", "/v1/none"} {
		for _, sent := range []string{"", "with space", strings.Repeat("a", 129), "späte", `quo"te`, "semi;colon"} {
			got, err := c.Do(t.Context(), "GET", path, nil, "X-Request-Id", sent)
			if err != nil {
				t.Fatal(err)
			}
			if id := got.Header.Get("X-Request-Id"); !ownID.MatchString(id) {
				t.Errorf("GET %s with id %q: answered %q, want one of the server's own", path, sent, id)
			}
		}
	}
}

func TestCORS(t *testing.T) {
	t.Parallel()
	const site = "https://app.example.org"
	listed := server.Run(t, server.Options{Env: []string{"CORS_ORIGIN=" + site + ",http://localhost:5173"}})
	open := server.Run(t, server.Options{})
	for _, tt := range []struct {
		name         string
		s            *server.Server
		path, origin string
		allowed      string
		credentials  bool
	}{
		{"a listed site", listed, "/v1/api-keys", site, site, true},
		{"a second one", listed, "/health", "http://localhost:5173", "http://localhost:5173", true},
		{"a site with the name in it", listed, "/health", "https://app.example.org.evil.test", "", false},
		{"another scheme", listed, "/health", "http://app.example.org", "", false},
		{"null", listed, "/health", "null", "", false},
		{"area C has none", listed, "/api/none", site, "", false},
		{"all by default", open, "/v1/none", site, "*", false},
		{"area C has none by default", open, "/api/none", site, "", false},
	} {
		c := tt.s.Client(1)
		defer c.Close()
		got, err := c.Do(t.Context(), "GET", tt.path, nil, "Origin", tt.origin)
		if err != nil {
			t.Fatal(err)
		}
		origin, credentials := got.Header.Get("Access-Control-Allow-Origin"), got.Header.Get("Access-Control-Allow-Credentials") == "true"
		if origin != tt.allowed || credentials != tt.credentials {
			t.Errorf("%s: allowed %q, credentials %v; want %q, %v", tt.name, origin, credentials, tt.allowed, tt.credentials)
		}
		pre, err := c.Do(t.Context(), "OPTIONS", tt.path, nil, "Origin", tt.origin, "Access-Control-Request-Method", "POST", "Access-Control-Request-Headers", "x-ucan-delegation")
		if err != nil {
			t.Fatal(err)
		}
		if methods := pre.Header.Get("Access-Control-Allow-Methods"); (methods != "") != (tt.allowed != "") {
			t.Errorf("%s: a preflight allows methods %q", tt.name, methods)
		}
		if tt.allowed != "" && !strings.Contains(pre.Header.Get("Access-Control-Allow-Headers"), "x-ucan-delegation") {
			t.Errorf("%s: a preflight allows headers %q, want x-ucan-delegation among them", tt.name, pre.Header.Get("Access-Control-Allow-Headers"))
		}
		if tt.allowed != "" && !strings.Contains(got.Header.Get("Access-Control-Expose-Headers"), "X-Request-Id") {
			t.Errorf("%s: X-Request-Id is not exposed", tt.name)
		}
	}
}

// TestRateLimit sends more than a key may: it is told so, and the client waits
// and comes through.
func TestRateLimit(t *testing.T) {
	t.Parallel()
	s := server.Run(t, server.Options{Env: []string{"HEARTH_RATE_LIMIT=60"}})
	raw := s.Client(1)
	defer raw.Close()
	var refused *server.Answer
	for range 200 {
		got, err := raw.Do(t.Context(), "GET", "/v1/api-keys/current", nil)
		if err != nil {
			t.Fatal(err)
		}
		if got.Status != 200 {
			refused = got
			break
		}
	}
	if refused == nil || refused.Status != 429 || refused.Header.Get("Retry-After") == "" || refused.Header.Get("Content-Type") != "application/problem+json" {
		t.Fatalf("after 200 requests at 60 a minute: %+v, want 429 with Retry-After", refused)
	}
	if got := status(t, s.URL+"/health"); got != 200 {
		t.Errorf("health meanwhile = %d, want 200", got)
	}
	var m client.Meta
	if _, err := owner(t, s).Keys.Current(t.Context(), client.WithMeta(&m)); err != nil || m.Attempts < 2 {
		t.Errorf("the client: %v after %d attempts, want success after waiting", err, m.Attempts)
	}
}
