package graph_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
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
	return web.Observe(dbtest.Log(t), web.Problem, nil, webtest.Handler(t, a))
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
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := newWorld(t, d).rig
		p := webtest.Play{Vars: stock(t, r), Handler: r.handler(t), Sign: sign}
		for _, c := range webtest.Read(t, "graph.json") {
			t.Run(c.Name, func(t *testing.T) { p.Run(t, c) })
		}
	})
}

func sign(r *http.Request, as string) { r.Header.Set("Authorization", as) }
