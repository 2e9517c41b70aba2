package web_test

import (
	"crypto/tls"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/web"
)

func TestSecureHeaders(t *testing.T) {
	t.Parallel()
	h := web.SecureHeaders(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", 400) }))
	for _, secure := range []bool{false, true} {
		r := httptest.NewRequest("GET", "/", nil)
		want := map[string]string{
			"X-Content-Type-Options":       "nosniff",
			"Content-Security-Policy":      "default-src 'none'; frame-ancestors 'none'",
			"Cross-Origin-Resource-Policy": "same-origin",
			"Strict-Transport-Security":    "",
		}
		if secure {
			r.TLS = &tls.ConnectionState{}
			want["Strict-Transport-Security"] = "max-age=31536000"
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		for name, value := range want {
			if got := w.Header().Get(name); got != value {
				t.Errorf("TLS %v: %s = %q, want %q", secure, name, got, value)
			}
		}
	}
}

func TestForPage(t *testing.T) {
	t.Parallel()
	h := web.SecureHeaders(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if got, want := w.Header().Get("Cache-Control"), "no-store"; got != want {
			t.Errorf("Cache-Control before = %q, want %q", got, want)
		}
		web.ForPage(w.Header(), r, "script-src 'self'")
	}))
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "http://localhost/docs", nil))
	if got, want := w.Header().Get("Content-Security-Policy"), "default-src 'none'; script-src 'self'; base-uri 'none'; frame-ancestors 'none'"; got != want {
		t.Errorf("Content-Security-Policy = %q, want %q", got, want)
	}
	for name, want := range map[string]string{
		"Cache-Control": "no-cache", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
}
