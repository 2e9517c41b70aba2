package web_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestSessionCookie: over TLS, here or at a proxy before us, the cookie is one that
// browsers send over TLS only; it is found again in each case.
func TestSessionCookie(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, host, origin string
		tls                bool
		want               string
		secure             bool
	}{
		{"plain", "field.test:3000", "http://field.test:3000", false, "hearth_3000", false},
		{"plain, without an origin", "field.test", "", false, "hearth", false},
		{"TLS", "hearth.example.org", "https://hearth.example.org", true, "__Host-hearth", true},
		{"TLS at a proxy", "hearth.example.org", "https://hearth.example.org", false, "__Host-hearth", true},
	} {
		r := httptest.NewRequest(http.MethodPost, "/console/session", nil)
		r.Host = tt.host
		r.Header.Set("Origin", tt.origin)
		if tt.tls {
			r.TLS = &tls.ConnectionState{}
		}
		c := web.SessionCookie(r, "text", 60)
		if c.Name != tt.want || c.Secure != tt.secure || !c.HttpOnly || c.SameSite != http.SameSiteStrictMode {
			t.Errorf("%s: cookie %s, secure %v", tt.name, c.Name, c.Secure)
		}
		get := httptest.NewRequest(http.MethodGet, "/v1/counts", nil) // has no origin
		get.Host, get.TLS = tt.host, r.TLS
		get.AddCookie(c)
		if got := web.SessionText(get); got != "text" {
			t.Errorf("%s: the cookie holds %q", tt.name, got)
		}
	}
	// Over TLS a cookie that came without it does not count.
	r := httptest.NewRequest(http.MethodGet, "/v1/counts", nil)
	r.Host, r.TLS = "hearth.example.org", &tls.ConnectionState{}
	r.AddCookie(&http.Cookie{Name: "hearth", Value: "planted"})
	if got := web.SessionText(r); got != "" {
		t.Errorf("a planted cookie counts: %q", got)
	}
}
