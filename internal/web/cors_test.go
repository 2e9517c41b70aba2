package web_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

func cors(t *testing.T, setting string) *web.CORS {
	t.Helper()
	c, err := web.NewCORS(setting)
	if err != nil {
		t.Fatalf("NewCORS(%q): %v", setting, err)
	}
	return c
}

func TestCORSAllowed(t *testing.T) {
	t.Parallel()
	const list = "https://good.example, http://localhost:5173/ ,HTTPS://Upper.Example:443"
	for _, tt := range []struct {
		setting, origin string
		want            bool
	}{
		{list, "https://good.example", true},
		{list, "http://localhost:5173", true},
		{list, "https://upper.example", true},
		{list, "https://good.example.evil.test", false},
		{list, "https://evilgood.example", false},
		{list, "https://sub.good.example", false},
		{list, "http://good.example", false},
		{list, "https://good.example:8443", false},
		{list, "https://good.example/", false},
		{list, "https://good.example,https://evil.test", false},
		{list, "null", false},
		{list, "", false},
		{"*", "https://any.example", true},
		{"", "https://good.example", false},
	} {
		if got := cors(t, tt.setting).Allowed(tt.origin); got != tt.want {
			t.Errorf("CORS %q: Allowed(%q) = %v, want %v", tt.setting, tt.origin, got, tt.want)
		}
	}
}

func TestNewCORSRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []string{"null", "good.example", "*,https://a.example", "https://*.example", "https://a.example/path", "https://u:p@a.example", "https://a.example?x"} {
		if _, err := web.NewCORS(s); err == nil {
			t.Errorf("NewCORS(%q) succeeded, want an error", s)
		}
	}
}

func TestCORSMiddleware(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, setting, method, origin string
		preflight                     bool
		status                        int
		allowOrigin, credentials      string
	}{
		{"any, plain", "*", "GET", "https://a.example", false, 418, "*", ""},
		{"any, no origin", "*", "GET", "", false, 418, "*", ""},
		{"any, null", "*", "GET", "null", false, 418, "*", ""},
		{"any, preflight", "*", "OPTIONS", "https://a.example", true, 204, "*", ""},
		{"listed", "https://a.example", "POST", "https://a.example", false, 418, "https://a.example", "true"},
		{"listed, preflight", "https://a.example", "OPTIONS", "https://a.example", true, 204, "https://a.example", "true"},
		{"stranger", "https://a.example", "GET", "https://b.example", false, 418, "", ""},
		{"stranger, preflight", "https://a.example", "OPTIONS", "https://b.example", true, 204, "", ""},
		{"sandboxed page", "https://a.example", "GET", "null", false, 418, "", ""},
		{"no origin", "https://a.example", "GET", "", false, 418, "", ""},
		{"options that is no preflight", "*", "OPTIONS", "https://a.example", false, 418, "*", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := cors(t, tt.setting).Middleware(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(418) }))
			r := httptest.NewRequest(tt.method, "/", nil)
			if tt.origin != "" {
				r.Header.Set("Origin", tt.origin)
			}
			if tt.preflight {
				r.Header.Set("Access-Control-Request-Method", "PUT")
			}
			w := httptest.NewRecorder()
			h.ServeHTTP(w, r)
			if w.Code != tt.status {
				t.Errorf("status = %d, want %d", w.Code, tt.status)
			}
			for name, want := range map[string]string{
				"Access-Control-Allow-Origin": tt.allowOrigin, "Access-Control-Allow-Credentials": tt.credentials, "Vary": "Origin",
			} {
				if got := w.Header().Get(name); got != want {
					t.Errorf("%s = %q, want %q", name, got, want)
				}
			}
			if tt.allowOrigin != "" {
				wantPrefix(t, w.Header(), "Access-Control-Expose-Headers", "X-Request-Id, X-Run-Id")
			}
			if tt.preflight {
				checkPreflight(t, w.Header(), tt.allowOrigin != "")
			}
		})
	}
}

func checkPreflight(t *testing.T, h http.Header, allowed bool) {
	t.Helper()
	if got := h.Get("Content-Length"); got != "0" {
		t.Errorf("Content-Length = %q, want 0", got)
	}
	if !allowed {
		if got := h.Get("Access-Control-Allow-Methods"); got != "" {
			t.Errorf("Access-Control-Allow-Methods = %q, want none for a stranger", got)
		}
		return
	}
	wantPrefix(t, h, "Access-Control-Allow-Methods", "GET,POST,PUT,DELETE,PATCH,OPTIONS")
	wantPrefix(t, h, "Access-Control-Allow-Headers",
		"Content-Type,Authorization,x-ucan-delegation,x-matrix-access-token,x-matrix-homeserver,x-did,x-request-id,x-auth-type,x-timezone,")
}

func wantPrefix(t *testing.T, h http.Header, name, prefix string) {
	t.Helper()
	if got := h.Get(name); !strings.HasPrefix(got, prefix) {
		t.Errorf("%s = %q, want it to begin with %q", name, got, prefix)
	}
}
