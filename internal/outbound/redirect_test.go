package outbound_test

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/outbound"
)

// towards redirects everything to a URL.
func towards(to string, status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, to, status) }
}

func TestRedirectInside(t *testing.T) {
	t.Parallel()
	inside, hits := target(t, hello)
	lookup, _ := names{"hook.test": one("127.0.0.1"), "evil.test": one("127.0.0.1")}.lookup()
	for _, to := range []string{
		"http://169.254.169.254/latest/meta-data/",
		"http://127.0.0.1:" + inside + "/",
		"http://evil.test:" + inside + "/", // a name nobody listed
		"http://localhost:" + inside + "/",
		"http://2130706433:" + inside + "/",
		"http://[::ffff:127.0.0.1]:" + inside + "/",
		"file:///etc/passwd",
		"http://user:pass@hook.test/",
	} {
		t.Run(to, func(t *testing.T) {
			t.Parallel()
			port, _ := target(t, towards(to, http.StatusFound))
			c := client(t, outbound.Config{Lookup: lookup, Allow: []string{"hook.test:" + port}, Ports: []int{80, atoi(t, inside)}})
			_, err := get(t, c, "http://hook.test:"+port+"/")
			wantRefused(t, err)
		})
	}
	t.Cleanup(func() {
		if got := hits.Load(); got != 0 {
			t.Errorf("the server inside got %d requests, want 0", got)
		}
	})
}

func TestRedirectCount(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		limit, hops int
		ok          bool
	}{{0, 3, true}, {0, 4, false}, {1, 1, true}, {1, 2, false}, {-1, 1, false}, {-1, 0, true}} {
		port, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
			var n int
			_, _ = fmt.Sscanf(r.URL.Path, "/%d", &n)
			if n > 0 {
				http.Redirect(w, r, fmt.Sprintf("/%d", n-1), http.StatusFound)
			}
		})
		c := client(t, outbound.Config{Allow: []string{"127.0.0.1"}, MaxRedirects: tt.limit})
		_, err := get(t, c, fmt.Sprintf("http://127.0.0.1:%s/%d", port, tt.hops))
		if tt.ok && err != nil {
			t.Errorf("limit %d, %d hops: %v, want success", tt.limit, tt.hops, err)
		}
		if !tt.ok {
			wantRefused(t, err)
		}
	}
}

func TestRedirectToPlainHTTP(t *testing.T) {
	t.Parallel()
	plain, hits := target(t, hello)
	s := httptest.NewTLSServer(towards("http://127.0.0.1:"+plain+"/", http.StatusFound))
	t.Cleanup(s.Close)
	roots := x509.NewCertPool()
	roots.AddCert(s.Certificate())
	c := client(t, outbound.Config{Allow: []string{"127.0.0.1"}, TLS: &tls.Config{RootCAs: roots}})
	_, err := get(t, c, s.URL)
	wantRefused(t, err)
	if got := hits.Load(); got != 0 {
		t.Errorf("the plain server got %d requests, want 0", got)
	}
}

// TestRedirectHeaders: what was meant for the first server stays with it, also
// on the second hop of a stranger and on the way back.
func TestRedirectHeaders(t *testing.T) {
	t.Parallel()
	seen := make(chan http.Header, 10)
	record := func(next http.HandlerFunc) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			seen <- r.Header.Clone()
			next(w, r)
		}
	}
	strange, _ := target(t, record(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/1":
			http.Redirect(w, r, "/2", http.StatusFound)
		case "/back":
			http.Redirect(w, r, r.URL.Query().Get("to"), http.StatusFound)
		}
	}))
	port, _ := target(t, record(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/same":
			w.Header().Set("Set-Cookie", "session=1")
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/away":
			http.Redirect(w, r, "http://127.0.0.1:"+strange+"/1", http.StatusFound)
		case "/and-back":
			http.Redirect(w, r, "http://127.0.0.1:"+strange+"/back?to=http://"+r.Host+"/end", http.StatusFound)
		}
	}))
	c := client(t, outbound.Config{Allow: []string{"127.0.0.1"}})
	for _, tt := range []struct {
		path string
		keep []bool // per request: were our headers there
	}{{"/same", []bool{true, true}}, {"/away", []bool{true, false, false}}, {"/and-back", []bool{true, false, false}}} {
		req, err := http.NewRequestWithContext(t.Context(), "GET", "http://127.0.0.1:"+port+tt.path+"?token=1", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer x")
		req.Header.Set("X-Hearth-Signature", "x")
		req.Header.Set("Accept", "text/plain")
		if _, err := do(t, c, req); err != nil {
			t.Fatalf("GET %s: %v", tt.path, err)
		}
		for i, keep := range tt.keep {
			h := <-seen
			if got := h.Get("Authorization") != "" && h.Get("X-Hearth-Signature") != ""; got != keep {
				t.Errorf("%s, request %d: our headers sent = %v, want %v", tt.path, i, got, keep)
			}
			if !keep && h.Get("Referer") != "" {
				t.Errorf("%s, request %d: Referer %q sent to a stranger", tt.path, i, h.Get("Referer"))
			}
			if h.Get("Accept") != "text/plain" || h.Get("Cookie") != "" || h.Get("User-Agent") != "Hearth" {
				t.Errorf("%s, request %d: headers %v, want Accept and User-Agent, no Cookie", tt.path, i, h)
			}
		}
	}
}

func TestRedirectBody(t *testing.T) {
	t.Parallel()
	strange, hits := target(t, hello)
	port, _ := target(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "http://127.0.0.1:"+strange+"/", http.StatusTemporaryRedirect)
			return
		}
		if r.URL.Path == "/same" {
			http.Redirect(w, r, "/end", http.StatusTemporaryRedirect)
		}
	})
	c := client(t, outbound.Config{Allow: []string{"127.0.0.1"}})
	post := func(path string) error {
		req, err := http.NewRequestWithContext(t.Context(), "POST", "http://127.0.0.1:"+port+path, strings.NewReader("secret"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = do(t, c, req)
		return err
	}
	if err := post("/same"); err != nil {
		t.Errorf("redirect to the same server: %v, want success", err)
	}
	wantRefused(t, post("/away"))
	if got := hits.Load(); got != 0 {
		t.Errorf("the stranger got %d requests, want 0", got)
	}
}
