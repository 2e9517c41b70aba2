package resolve_test

import (
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity/resolve"
)

// TestGolden holds whole answers, byte for byte, to files one can read. Set
// UPDATE_GOLDEN to write them anew.
func TestGolden(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		e := newEnv(t, d)
		e.fill(t)
		if err := e.dids.EnsureOracle(owner(t.Context(), "default"), "Hearth"); err != nil {
			t.Fatal(err)
		}
		h := e.handler(t)
		for name, target := range map[string]string{
			"key-ed25519":        "/1.0/identifiers/" + keyDID,
			"key-x25519":         "/1.0/identifiers/did:key:z6LSeu9HkTHSfLLeUs2nnzUSNedgDUevfNQgQjQC23ZCit6F",
			"key-p256":           "/1.0/identifiers/did:key:zDnaerDaTF5BXEavCrfRZEk316dpbLsfPDZ3WJ5hRTPFU2169",
			"public-device":      "/1.0/identifiers/did%3Aixo%3Adevice%2F1",
			"public-household":   "/1.0/identifiers/did%3Aixo%3Ahousehold%2F123",
			"public-deactivated": "/1.0/identifiers/" + gone,
			"public-oracle":      "/1.0/identifiers/" + oracleDID,
			"not-found":          "/1.0/identifiers/" + nobodyDID,
			"own-household":      "/v1/entities/did%3Aixo%3Ahousehold%2F123/did-document",
			"resolve-device":     "/v1/dids/did%3Aixo%3Adevice%2F1",
			"web-oracle":         "/.well-known/did.json",
			"web-entity":         "/entities/" + strings.TrimPrefix(minted, "did:ixo:entity:") + "/did.json",
		} {
			w := ask(h, target, "Authorization", "Bearer default owner")
			compareGolden(t, name, w.Body.Bytes())
		}
	})
}

func compareGolden(t *testing.T, name string, body []byte) {
	t.Helper()
	got := jsontext.Value(body)
	if err := got.Indent(jsontext.WithIndent("  ")); err != nil {
		t.Fatalf("%s: %v in %s", name, err, body)
	}
	file := filepath.Join("testdata", "golden", name+".json")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(file, append(got, '\n'), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.TrimSpace(string(want)), string(got)); diff != "" {
		t.Errorf("%s, -want +got:\n%s", name, diff)
	}
}

// TestOwnNames holds what did:web a public address makes ours.
func TestOwnNames(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		newEnv(t, d).fill(t)
		id := strings.TrimPrefix(minted, "did:ixo:entity:")
		for _, tt := range []struct{ base, path, want string }{
			{"https://twins.example.org:8443", "/entities/" + id + "/did.json", "did:web:twins.example.org%3A8443:entities:" + id},
			{"https://example.org/twins", "/entities/" + id + "/did.json", "did:web:example.org:twins:entities:" + id},
			{"http://localhost:3000", "/entities/" + id + "/did.json", "did:web:localhost%3A3000:entities:" + id},
			{"http://192.0.2.1", "/entities/" + id + "/did.json", ""},
			{"", "/entities/" + id + "/did.json", ""},
			{"", "/.well-known/did.json", ""},
			{publicURL, "/entities/../did.json", ""},
			{publicURL, "/entities/" + strings.ToUpper(id) + "/did.json", ""},
			{publicURL, "/entities/" + id + "0/did.json", ""},
			{publicURL, "/entities/device%2F1/did.json", ""},
			{"https://example.org/twins", "/.well-known/did.json", ""},
		} {
			e := newEnv(t, d, func(c *resolve.Config) { c.PublicURL = tt.base })
			w := ask(e.handler(t), tt.path, "Host", "evil.example")
			if tt.want == "" {
				if w.Code == 200 {
					t.Errorf("%q: GET %s = 200 %s, want none", tt.base, tt.path, w.Body)
				}
				continue
			}
			if w.Code != 200 || !strings.Contains(w.Body.String(), `"id":"`+tt.want+`"`) {
				t.Errorf("%q: GET %s = %d %s, want the document of %s", tt.base, tt.path, w.Code, w.Body, tt.want)
			}
			// The same document, asked for by its name, encoded or as it is.
			for _, name := range []string{url.PathEscape(tt.want), tt.want} {
				again := ask(e.handler(t), "/1.0/identifiers/"+name, "Accept", "application/did+json")
				if again.Body.String() != w.Body.String() {
					t.Errorf("%s resolved = %s, want %s", name, again.Body, w.Body)
				}
			}
		}
	})
}

// A server without a name has no did:web, and says which setting gives it one.
func TestNoName(t *testing.T) {
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) {
		const id = "175d7824ba25002e4ec206365e206236"
		e := newEnv(t, d, func(c *resolve.Config) { c.PublicURL, c.Web = "", nil })
		for path, status := range map[string]int{
			"/.well-known/did.json": 404, "/entities/" + id + "/did.json": 404,
			"/1.0/identifiers/did:web:twins.example.org": 400,
		} {
			w := ask(e.handler(t), path)
			if w.Code != status || !strings.Contains(w.Body.String(), "HEARTH_PUBLIC_URL") {
				t.Errorf("GET %s = %d %s, want %d and the setting", path, w.Code, w.Body, status)
			}
		}
	})
}
