package app

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/config"
	"github.com/hearth-dmrv/hearth/internal/outbound"
)

// TestOracleTwin holds that the oracle can be looked up from the first start:
// by its DID, and by the did:web of the public address.
func TestOracleTwin(t *testing.T) {
	t.Parallel()
	b := Build(t, "owner-key-of-the-tests-0123456789", func(c *config.Config) { c.Server.PublicURL = "https://twins.example.org" })
	for _, path := range []string{"/.well-known/did.json", "/1.0/identifiers/" + b.identity.DID.String(), "/1.0/identifiers/did:web:twins.example.org"} {
		w := ask(b.Handler, http.MethodGet, path)
		for _, want := range []string{`#api","type":"oracleService","serviceEndpoint":"https://twins.example.org"`, `#ws","type":"wsService"`, `"publicKeyMultibase":"z6Mk`} {
			if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), want) {
				t.Errorf("GET %s = %d %s, want %s in it", path, w.Code, w.Body, want)
			}
		}
	}
	if err := b.oracleTwin(t.Context(), b.twins.resolve); err != nil {
		t.Errorf("another start: %v", err)
	}
	if w := ask(b.Handler, http.MethodGet, "/1.0/identifiers/"+b.identity.DID.String()); !strings.Contains(w.Body.String(), `"versionId":"1"`) {
		t.Errorf("after another start: %s, want the first revision", w.Body)
	}
}

// TestOracleTwinWithoutName holds that no name is taken from a request.
func TestOracleTwinWithoutName(t *testing.T) {
	t.Parallel()
	b := Build(t, "owner-key-of-the-tests-0123456789", nil)
	if w := ask(b.Handler, http.MethodGet, "http://evil.example/.well-known/did.json"); w.Code != http.StatusNotFound {
		t.Errorf("/.well-known/did.json = %d %s, want 404", w.Code, w.Body)
	}
	w := ask(b.Handler, http.MethodGet, "http://evil.example/1.0/identifiers/"+b.identity.DID.String())
	if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), `"serviceEndpoint":"http://localhost:`) || strings.Contains(w.Body.String(), "evil") {
		t.Errorf("the oracle = %d %s, want it on localhost", w.Code, w.Body)
	}
}

// TestFetchDocument holds that a did:web is fetched through the guard.
func TestFetchDocument(t *testing.T) {
	t.Parallel()
	host := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/.well-known/did.json" || !strings.Contains(r.Header.Get("Accept"), "application/did+json") {
			http.NotFound(w, r)
			return
		}
		_, _ = w.Write([]byte(`{"id":"x"}`)) // the test's own client reads it
	}))
	t.Cleanup(host.Close)
	for _, tt := range []struct {
		allow []string
		path  string
		ok    bool
	}{
		{nil, "/.well-known/did.json", false},
		{[]string{"127.0.0.1"}, "/.well-known/did.json", true},
		{[]string{"127.0.0.1"}, "/other/did.json", false},
	} {
		client, err := outbound.New(outbound.Config{Allow: tt.allow, MaxRedirects: -1})
		if err != nil {
			t.Fatal(err)
		}
		got, err := fetchDocument(client)(t.Context(), host.URL+tt.path)
		if (err == nil) != tt.ok || tt.ok && string(got) != `{"id":"x"}` {
			t.Errorf("fetch of %s, allowing %q = %s, %v, want ok %v", tt.path, tt.allow, got, err, tt.ok)
		}
		client.Close()
	}
}
