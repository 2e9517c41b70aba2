package graph_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// gate knows callers by name; "in w for p" is one of workspace w limited to
// project p.
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	name := r.Header.Get("Authorization")
	c, ok := map[string]web.Caller{
		"ann": ann, "project": restricted,
		"reader": {Workspace: "w", DID: "did:x:ann", Scopes: []string{"entities:read"}},
		"bob":    {Workspace: "v", DID: "did:x:bob", Scopes: []string{"*"}},
		"none":   {Workspace: "w", DID: "did:x:ann", Scopes: []string{"keys:read"}},
	}[name]
	if ws, found := strings.CutPrefix(name, "in "); found {
		ws, project, limited := strings.Cut(ws, " for ")
		if c, ok = callerIn(ws), true; limited {
			c.Projects = []string{project}
		}
	}
	if !ok {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "An API key is needed.")
	}
	if !c.May(string(scope)) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "No.")
	}
	return c, nil
}

func (r *rig) handler(t testing.TB) http.Handler {
	t.Helper()
	a := web.NewAPI(web.APIConfig{Name: "graph", Gate: gate{}, Log: dbtest.Log(t)})
	r.Routes(a)
	mux := http.NewServeMux()
	a.Mount(mux)
	return web.Observe(dbtest.Log(t), web.Problem, nil, mux)
}

func send(h http.Handler, as, do string, head map[string]string) *httptest.ResponseRecorder {
	method, target, _ := strings.Cut(do, " ")
	q := httptest.NewRequest(method, target, nil)
	q.Header.Set("Authorization", as)
	for name, value := range head {
		q.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, q)
	return w
}

type routeCase struct {
	Name   string            `json:"name"`
	As     string            `json:"as"`
	Do     string            `json:"do"`
	Send   map[string]string `json:"send"`
	Status int               `json:"status"`
	Code   string            `json:"code"`
	Fields []string          `json:"fields"`
	Media  string            `json:"media"`
	Body   jsontext.Value    `json:"body"`
	Holds  []string          `json:"holds"`
}

// stock fills the store the cases speak of. It returns the edges by name.
func stock(t *testing.T, r *rig) map[string]string {
	t.Helper()
	r.twins(t, thing{did: "did:x:org", domain: "organisation", name: "Org"}, thing{did: "did:x:group", domain: "group", name: "members"},
		thing{did: "did:x:p1", domain: "project", project: "did:x:p1"}, thing{did: "did:x:stove/1", project: "did:x:p1", name: "Stove \"1\" <&>"},
		thing{did: "did:x:alone"}, thing{did: "did:x:bobs", ws: "v"})
	ids := r.join(t, join{from: "did:x:org", role: "contains", to: "did:x:group", since: "2026-01-01"},
		join{from: "did:x:org", role: "implements", to: "did:x:p1", since: "2026-02-01", until: "2026-12-31"},
		join{from: "did:x:p1", role: "generates", to: "did:x:stove/1"}, join{from: "did:x:stove/1", role: "operator", to: "did:y:firm"})
	return map[string]string{"contains": ids[0], "implements": ids[1], "generates": ids[2], "operator": ids[3]}
}

func TestRoutes(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/graph.json")
	if err != nil {
		t.Fatal(err)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newWorld(t, d).rig
		filled := string(text)
		for name, id := range stock(t, r) {
			filled = strings.ReplaceAll(filled, "{"+name+"}", id)
		}
		var cases []routeCase
		if err := json.Unmarshal([]byte(filled), &cases, json.RejectUnknownMembers(true)); err != nil {
			t.Fatal(err)
		}
		h := r.handler(t)
		for _, c := range cases {
			check(t, c, send(h, c.As, c.Do, c.Send))
		}
	})
}

func check(t *testing.T, c routeCase, w *httptest.ResponseRecorder) {
	t.Helper()
	if w.Code != c.Status {
		t.Errorf("%s: status = %d, want %d: %s", c.Name, w.Code, c.Status, w.Body)
		return
	}
	if c.Media != "" && w.Header().Get("Content-Type") != c.Media {
		t.Errorf("%s: media = %q, want %q", c.Name, w.Header().Get("Content-Type"), c.Media)
	}
	for _, part := range c.Holds {
		if !strings.Contains(w.Body.String(), part) {
			t.Errorf("%s: body lacks %q: %s", c.Name, part, w.Body)
		}
	}
	if c.Code != "" {
		checkProblem(t, c, w.Body.Bytes())
	}
	if c.Body == nil {
		return
	}
	var got, want any
	if err := json.Unmarshal(w.Body.Bytes(), &got); err != nil {
		t.Errorf("%s: %v", c.Name, err)
		return
	}
	if err := json.Unmarshal(c.Body, &want); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s: body (-want +got):\n%s", c.Name, diff)
	}
}

func checkProblem(t *testing.T, c routeCase, body []byte) {
	t.Helper()
	var p struct {
		Code   string `json:"code"`
		Errors []struct {
			Pointer string `json:"pointer"`
		} `json:"errors"`
	}
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatal(err)
	}
	if p.Code != c.Code {
		t.Errorf("%s: code = %q, want %q", c.Name, p.Code, c.Code)
	}
	var fields []string
	for _, e := range p.Errors {
		fields = append(fields, e.Pointer)
	}
	if diff := cmp.Diff(c.Fields, fields); diff != "" {
		t.Errorf("%s: fields (-want +got):\n%s", c.Name, diff)
	}
}
