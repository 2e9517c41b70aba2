package app

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

// TestRowOf: changes of one thing have one name, and what many may do at once has none.
func TestRowOf(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ method, path, key, want string }{
		{"PATCH", "/v1/entities/did:x:1", "", "/v1/entities/did:x:1"},
		{"DELETE", "/v1/entities/did:x:1", "a", "/v1/entities/did:x:1"},
		{"PUT", "/v1/templates/t", "", "/v1/templates/t"},
		{"POST", "/v1/devices/did:x:1/readings", "", "/v1/devices/did:x:1/readings"},
		{"POST", "/v1/entities", "a", "/v1/entities a"},
		{"POST", "/v1/entities", "", ""},
		{"POST", "/v1/surveys/s/responses", "", ""},
		{"GET", "/v1/entities/did:x:1", "", ""},
	} {
		r := httptest.NewRequest(c.method, c.path, http.NoBody)
		if c.key != "" {
			r.Header.Set("Idempotency-Key", c.key)
		}
		if got := rowOf(r); got != c.want {
			t.Errorf("%s %s %q = %q, want %q", c.method, c.path, c.key, got, c.want)
		}
	}
}
