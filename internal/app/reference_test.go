package app_test

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// document reads /docs-json as any client would.
func document(t *testing.T, h http.Handler) (any, *jsonschema.Compiler) {
	t.Helper()
	w := httptest.NewRecorder()
	h.ServeHTTP(w, httptest.NewRequest("GET", "/docs-json", nil))
	doc, err := jsonschema.UnmarshalJSON(w.Body)
	if err != nil {
		t.Fatalf("GET /docs-json: %v", err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	if err := c.AddResource("doc.json", doc); err != nil {
		t.Fatal(err)
	}
	return doc, c
}

// TestExamplesWork sends the documented example of every operation, as the
// owner, and holds the answer to the documented schema.
func TestExamplesWork(t *testing.T) {
	t.Parallel()
	whole := newHouse(t)
	x := &examples{}
	_, x.schemas = document(t, whole.Handler) // the same in every house
	var writes []web.Route
	for _, r := range whole.Routes {
		switch {
		case r.Doc.Page: // for browsers: test/console
		case r.Method != http.MethodGet:
			writes = append(writes, r)
		default:
			t.Run(r.Method+r.Path, func(t *testing.T) {
				t.Parallel()
				x.holds(t, r, whole.send(t, r, whole.path(r), owner))
			})
		}
	}
	// What changes things has a house of its own in make test-all. Otherwise it shares one
	// with routes that stand far from it in the table, which rarely matters to it: only
	// where its example is refused there it gets its own.
	houses := 16
	if dbtest.Everything() {
		houses = len(writes)
	}
	for n := range houses {
		t.Run("house "+strconv.Itoa(n), func(t *testing.T) {
			t.Parallel()
			h := newHouse(t)
			for i := n; i < len(writes); i += houses {
				r := writes[i]
				t.Run(r.Method+r.Path, func(t *testing.T) {
					w := h.send(t, r, h.path(r), owner)
					if w.Code != r.Doc.Status && i != n {
						own := newHouse(t)
						w = own.send(t, r, own.path(r), owner)
					}
					x.holds(t, r, w)
				})
			}
		})
	}
}

// examples are the schemas that the answers to examples are held to.
type examples struct {
	mu      sync.Mutex
	schemas *jsonschema.Compiler
}

// holds wants that an answer is the one which is documented.
func (x *examples) holds(t *testing.T, r web.Route, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != r.Doc.Status && !needsMore(r, w) {
		t.Fatalf("got %d %s, want %d", w.Code, w.Body, r.Doc.Status)
	}
	if w.Code != r.Doc.Status {
		return
	}
	media := strings.TrimSpace(strings.Split(w.Header().Get("Content-Type"), ";")[0])
	if media != "application/json" || strings.HasSuffix(r.Path, "json") {
		return
	}
	at := "doc.json#/paths/" + pointer(openPath(r.Path)) + "/" + strings.ToLower(r.Method) +
		"/responses/" + strconv.Itoa(w.Code) + "/content/application~1json/schema"
	x.mu.Lock()
	schema, err := x.schemas.Compile(at)
	x.mu.Unlock()
	if err != nil {
		t.Fatalf("schema: %v", err)
	}
	answer, err := jsonschema.UnmarshalJSON(bytes.NewReader(w.Body.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(answer); err != nil {
		t.Errorf("%s\n%v", w.Body, err)
	}
}

// needsMore marks the examples whose success depends on more than the request:
// a ping to an address outside, the file of an export that nobody has made, a
// token somebody has signed, a demo that nobody has loaded, figures of a sample that
// has not answered, and a socket, which is more than a request.
func needsMore(r web.Route, w *httptest.ResponseRecorder) bool {
	if r.Path == "/socket.io/" || r.Path == "/delegation" && r.Method == http.MethodPost {
		return w.Code == http.StatusBadRequest
	}
	if r.Path == "/v1/demo" && r.Method == http.MethodDelete {
		return w.Code == http.StatusNotFound
	}
	if strings.HasPrefix(r.Path, "/v1/oracle/mcp-servers/") && strings.HasSuffix(r.Path, "/tools") || strings.HasSuffix(r.Path, "/grants/{tool}") { // an MCP server that answers
		return w.Code == http.StatusUnprocessableEntity
	}
	if strings.HasSuffix(r.Path, "/statistics") { // a sample that has answered
		return w.Code == http.StatusUnprocessableEntity
	}
	if r.Path == "/v1/reports" && r.Method == http.MethodPost { // a project
		return w.Code == http.StatusNotFound || w.Code == http.StatusConflict
	}
	if r.Path == "/v1/credentials" { // a claim that somebody has approved
		return w.Code == http.StatusConflict || w.Code == http.StatusNotFound
	}
	if r.Path == "/v1/credentials/{credentialId}/reinstate" || r.Path == "/v1/entities/{did}/issuer-keys" || r.Path == "/v1/entities/{did}/evaluation-consent" { // a suspended one; an oracle
		return w.Code == http.StatusConflict
	}
	if r.Path == "/v1/claims/{claimId}/evaluations" || r.Path == "/v1/claims/{claimId}/lease" { // somebody who has no part in the claim
		return w.Code == http.StatusForbidden
	}
	if strings.HasSuffix(r.Path, "/proposals/{proposalId}/decision") { // one that can be read, as it is now
		return w.Code == http.StatusConflict || w.Code == http.StatusPreconditionFailed
	}
	if strings.HasPrefix(r.Path, "/v1/claims/{claimId}/disputes/") { // a dispute that is open
		return w.Code == http.StatusNotFound
	}
	if r.Path == "/v1/imports/{id}/run" { // a job that has run
		return w.Code == http.StatusConflict
	}
	return (strings.HasSuffix(r.Path, "/ping") || strings.HasSuffix(r.Path, "/file")) && w.Code < 500
}

func openPath(path string) string {
	return strings.NewReplacer("{$}", "", "...}", "}").Replace(path)
}

func pointer(s string) string { return strings.NewReplacer("~", "~0", "/", "~1").Replace(s) }

// TestEveryBodyHasAnExample keeps the reference useful.
func TestEveryBodyHasAnExample(t *testing.T) {
	t.Parallel()
	for _, r := range newHouse(t).Routes {
		if r.In == nil {
			continue
		}
		if _, ok := r.In.FieldByName("Body"); ok && r.Doc.Example == nil {
			t.Errorf("%s %s has no example", r.Method, r.Path)
		}
	}
}

// TestReferenceExplains wants a word about every group, an example of every
// value in a path, and patches that open on the merge patch.
func TestReferenceExplains(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	w := httptest.NewRecorder()
	h.Handler.ServeHTTP(w, httptest.NewRequest("GET", "/docs-json", nil))
	var doc struct {
		Tags []struct {
			Name        string `json:"name"`
			Description string `json:"description"`
		} `json:"tags"`
		Paths map[string]map[string]struct {
			Parameters []struct {
				Name    string `json:"name"`
				In      string `json:"in"`
				Example any    `json:"example"`
			} `json:"parameters"`
			RequestBody struct {
				Content jsontext.Value `json:"content"`
			} `json:"requestBody"`
		} `json:"paths"`
	}
	if err := json.Unmarshal(w.Body.Bytes(), &doc); err != nil {
		t.Fatal(err)
	}
	for _, tag := range doc.Tags {
		if tag.Description == "" {
			t.Errorf("nothing is said about %s", tag.Name)
		}
	}
	for path, operations := range doc.Paths {
		for method, op := range operations {
			for _, p := range op.Parameters {
				if p.In == "path" && p.Example == nil {
					t.Errorf("%s %s: no example of {%s}", method, path, p.Name)
				}
			}
			content := string(op.RequestBody.Content)
			if strings.Contains(content, "merge-patch+json") && !strings.HasPrefix(content, `{"application/merge-patch+json"`) {
				t.Errorf("%s %s opens on another patch: %.60s", method, path, content)
			}
		}
	}
	for _, path := range []string{"/.well-known/did.json", "/entities/{id}/did.json"} {
		if doc.Paths[path] == nil {
			t.Errorf("%s is not in the reference", path)
		}
	}
}

// TestErrorsMatchTheDocument holds refusals to their documented shape too.
func TestErrorsMatchTheDocument(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	_, c := document(t, h.Handler)
	schema, err := c.Compile("doc.json#/paths/~1v1~1api-keys/post/responses/4XX/content/application~1problem+json/schema")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{``, `{`, `{"x":1}`, `{"name":"","scopes":["nope"]}`} {
		req := httptest.NewRequest("POST", "/v1/api-keys", strings.NewReader(text))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer "+owner)
		w := httptest.NewRecorder()
		h.Handler.ServeHTTP(w, req)
		answer, err := jsonschema.UnmarshalJSON(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(answer); err != nil || w.Code != 400 {
			t.Errorf("%q: %d %v", text, w.Code, err)
		}
	}
}

func TestDocumentIsOpenAPI31(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	doc, _ := document(t, h.Handler)
	m, ok := doc.(map[string]any)
	if !ok || m["openapi"] != "3.1.0" {
		t.Fatalf("openapi = %v", m["openapi"])
	}
	for _, path := range []string{"/v1/openapi.json", "/docs-yaml", "/docs", "/docs/swagger-ui-bundle.js", "/docs/reference.js", "/docs/errors", "/docs/configuration", "/docs/events", "/docs/events.json", "/docs/import.xlsx"} {
		w := httptest.NewRecorder()
		h.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if w.Code != 200 || w.Body.Len() == 0 {
			t.Errorf("GET %s = %d, %d bytes", path, w.Code, w.Body.Len())
		}
	}
	for _, path := range []string{"/v1/openapi.json", "/docs-yaml", "/docs/errors", "/docs/configuration", "/docs/events"} {
		w, plain := httptest.NewRecorder(), httptest.NewRecorder()
		h.Handler.ServeHTTP(plain, httptest.NewRequest("GET", path, nil))
		r := httptest.NewRequest("GET", path, nil)
		r.Header.Set("Accept-Encoding", "gzip")
		h.Handler.ServeHTTP(w, r)
		if w.Header().Get("Content-Encoding") != "gzip" || !slices.Contains(w.Header()["Vary"], "Accept-Encoding") {
			t.Errorf("GET %s packed: headers %v", path, w.Header())
			continue
		}
		z, err := gzip.NewReader(w.Body)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := io.ReadAll(z); err != nil || !bytes.Equal(got, plain.Body.Bytes()) {
			t.Errorf("GET %s packed = %d bytes, %v; plain %d", path, len(got), err, plain.Body.Len())
		}
	}
	for _, path := range []string{"/docs/../hearth.db", "/docs/%2e%2e/hearth.db", "/docs/embed.go", "/docs/", "/docs//errors", "/docs/swagger-ui.css.gz"} {
		w := httptest.NewRecorder()
		h.Handler.ServeHTTP(w, httptest.NewRequest("GET", path, nil))
		if path != "/docs/" && w.Code != 404 {
			t.Errorf("GET %s = %d, want 404", path, w.Code)
		}
	}
}
