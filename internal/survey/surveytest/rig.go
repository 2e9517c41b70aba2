package surveytest

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// Gate makes the caller of a workspace and a role. It admits "Authorization:
// Bearer <workspace> <role>".
type Gate func(ws, role string) web.Caller

// Admit implements web.Gate.
func (g Gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	ws, role, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), " ")
	if !ok {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "Send a key.")
	}
	c := g(ws, role)
	if !scope.Open(c.May) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+string(scope)+" is missing.")
	}
	return c, nil
}

// API is a table of routes behind the gate.
func (g Gate) API(routes ...func(*web.API)) *web.API {
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: g, Errors: web.Problem})
	for _, add := range routes {
		add(a)
	}
	return a
}

// Serve answers requests to routes behind the gate.
func (g Gate) Serve(t testing.TB, routes ...func(*web.API)) Server {
	return Server{webtest.Handler(t, g.API(routes...))}
}

// Server answers the requests of a test.
type Server struct{ http.Handler }

// Send calls a route: "GET /v1/surveys/…", as "workspace role".
func (s Server) Send(t testing.TB, who, request, body string, headers ...string) *httptest.ResponseRecorder {
	t.Helper()
	method, path, _ := strings.Cut(request, " ")
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+who)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

// Key is the server's own key.
func Key(t testing.TB) secret.Key {
	t.Helper()
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// Clock is real time until it is set.
type Clock struct {
	mu  sync.Mutex
	now time.Time
}

// Now is the time of the clock.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now.IsZero() {
		return time.Now()
	}
	return c.now
}

// Set stops the clock at a time.
func (c *Clock) Set(now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = now
}

// Codes lists the fields of a fault as "pointer code".
func Codes(err error) string {
	return fieldsOf(err, ", ", func(f fault.Field) string { return f.Pointer + " " + f.Code })
}

// Details lists the sentences of a fault.
func Details(err error) string {
	return fieldsOf(err, " ", func(f fault.Field) string { return f.Detail })
}

func fieldsOf(err error, between string, text func(fault.Field) string) string {
	var out []string
	if f := fault.As(err); f != nil {
		for _, one := range f.Fields {
			out = append(out, text(one))
		}
	}
	return strings.Join(out, between)
}

// Want fails the test unless err has a code; "" means no error.
func Want(t testing.TB, what string, err error, code string) {
	t.Helper()
	if err != nil && fault.As(err) == nil {
		t.Fatalf("%s = %v, want code %q", what, err, code)
	}
	if got := fault.CodeOf(err); got != code {
		t.Errorf("%s = %q (%v %s), want %q", what, got, err, Codes(err), code)
	}
}

// Crowd runs f n times at once and counts the outcomes: "ok", or the code of
// the fault.
func Crowd(n int, f func(i int) error) map[string]int {
	return CrowdOf(n, func(i int) (string, error) { return "ok", f(i) })
}

// CrowdOf is Crowd in which f returns its own word for success.
func CrowdOf(n int, f func(i int) (string, error)) map[string]int {
	var mu sync.Mutex
	got := map[string]int{}
	var wg sync.WaitGroup
	for i := range n {
		wg.Go(func() {
			what, err := f(i)
			if err != nil {
				if what = fault.CodeOf(err); what == "" {
					what = err.Error()
				}
			}
			mu.Lock()
			defer mu.Unlock()
			got[what]++
		})
	}
	wg.Wait()
	return got
}
