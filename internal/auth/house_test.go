package auth_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/auth"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// ownerText is the owner key of every test house. It is not in our form, as an
// operator's own need not be.
const ownerText = "correct horse battery staple, and some more"

// epoch is when every test begins.
var epoch = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// house is a server with keys: one workspace of operators, one tenant.
type house struct {
	db      *db.DB
	svc     *auth.Service
	handler http.Handler
	keys    map[string]string // name → text
	ids     map[string]string // name → id
	logs    *logBuffer

	mu     sync.Mutex
	now    time.Time
	serial int
	events []string // "workspace actor type subject revision"
}

// logBuffer is a bytes.Buffer for many writers.
type logBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *logBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// newHouse fills d with an owner, a tenant and keys of several rights.
func newHouse(t *testing.T, d *db.DB, change ...func(*auth.Config)) *house {
	t.Helper()
	h := &house{db: d, keys: map[string]string{"owner": ownerText}, ids: map[string]string{}, logs: &logBuffer{}, now: epoch}
	h.svc = h.service(change...)
	h.handler = h.serve(t, h.svc)
	if shown, err := h.svc.Bootstrap(t.Context(), ownerText); shown != "" || err != nil {
		t.Fatalf("Bootstrap() = %q, %v", shown, err)
	}
	h.ids["owner"] = "key_00000001"
	o, err := h.svc.CreateWorkspace(h.as(t, "default"), auth.WorkspaceDraft{ID: "kitui", Name: "Kitui"})
	if err != nil {
		t.Fatalf("CreateWorkspace() = %v", err)
	}
	h.keys["tenant"], h.ids["tenant"] = o.OwnerKey.Text, o.OwnerKey.ID
	h.make(t, "reader", "default", auth.Draft{Name: "reader", Scopes: []string{"keys:read"}})
	h.make(t, "manager", "default", auth.Draft{Name: "manager", Role: "manager"})
	h.make(t, "device", "default", auth.Draft{Name: "device", Role: "device"})
	h.make(t, "guest", "kitui", auth.Draft{Name: "guest", Scopes: []string{"keys:read"}})
	h.events = nil
	return h
}

// service makes a Service on the same store, as another process would.
func (h *house) service(change ...func(*auth.Config)) *auth.Service {
	cfg := auth.Config{
		DB: h.db, Log: slog.New(slog.NewTextHandler(h.logs, nil)), Record: h.record, Now: h.clock, NewID: h.nextID,
		Cursors: web.Cursors{Key: bytes.Repeat([]byte("k"), 32)},
	}
	for _, f := range change {
		f(&cfg)
	}
	return auth.New(cfg)
}

func (h *house) clock() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.now
}

func (h *house) pass(d time.Duration) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.now = h.now.Add(d)
}

func (h *house) nextID() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.serial++
	return fmt.Sprintf("%08d", h.serial)
}

func (h *house) record(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error {
	c := web.CallerFrom(ctx)
	tx.AfterCommit(func() {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.events = append(h.events, fmt.Sprintf("%s %s %s %d", c.Workspace, typ, subject, revision))
	})
	if !strings.HasPrefix(c.DID, "did:ixo:entity:") {
		return fmt.Errorf("%s has no actor", typ)
	}
	return nil
}

// takeEvents returns what happened since the last call.
func (h *house) takeEvents() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := h.events
	h.events = nil
	return out
}

func (h *house) as(t *testing.T, workspace string) context.Context {
	t.Helper()
	ctx, err := h.svc.AsOwner(t.Context(), workspace)
	if err != nil {
		t.Fatalf("AsOwner(%s) = %v", workspace, err)
	}
	return ctx
}

// make adds a key as the workspace's owner.
func (h *house) make(t *testing.T, name, workspace string, d auth.Draft) auth.Issued {
	t.Helper()
	k, err := h.svc.Create(h.as(t, workspace), d)
	if err != nil {
		t.Fatalf("Create(%+v) = %v", d, err)
	}
	h.keys[name], h.ids[name] = k.Text, k.ID
	return k
}

type nothing struct{}

// serve mounts the routes and a few of other kinds behind the usual edge.
func (h *house) serve(t testing.TB, s *auth.Service) http.Handler {
	t.Helper()
	log := slog.New(slog.NewTextHandler(h.logs, &slog.HandlerOptions{Level: slog.LevelDebug}))
	a := web.NewAPI(web.APIConfig{Name: "keys", Gate: s, Log: log})
	s.Routes(a)
	who := func(ctx context.Context, _ *nothing) (web.Caller, error) { return web.CallerFrom(ctx), nil }
	for path, scope := range map[string]web.Scope{
		"/v1/entities": "entities:write", "/v1/operate": "operations:write", "/v1/signed": web.Signed,
		"/v1/public": web.Public, "/v1/metrics": web.Operator,
	} {
		web.Get(a, path, who, web.Doc{Summary: "Tell who calls", Scope: scope})
	}
	mux := webtest.Handler(t, a, func(mux *http.ServeMux) {
		mux.HandleFunc("/", web.Unknown(
			func(*http.Request) web.ErrorWriter { return web.Problem },
			func(*http.Request, string) bool { return false }))
	})
	return web.WithRequestIDs(web.Proxies{}.Middleware(web.Observe(log, web.Problem, nil, mux)))
}

// call is a request to the house.
type call struct {
	method, path, body string
	key                string // text, sent as a bearer
	from               string // peer address; 192.0.2.1:1234 by default
	header             map[string]string
}

func (h *house) do(c call) *httptest.ResponseRecorder { return send(h.handler, c) }

func send(handler http.Handler, c call) *httptest.ResponseRecorder {
	if c.method == "" {
		c.method = "GET"
	}
	r := httptest.NewRequest(c.method, c.path, strings.NewReader(c.body))
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.key != "" {
		r.Header.Set("Authorization", "Bearer "+c.key)
	}
	if c.from != "" {
		r.RemoteAddr = c.from
	}
	for name, value := range c.header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, r)
	return w
}

// answer is what tests look at in a body.
type answer struct {
	Code      string                           `json:"code"`
	Message   string                           `json:"message"`
	Workspace string                           `json:"Workspace"`
	Scopes    []string                         `json:"Scopes"`
	Errors    []struct{ Pointer, Code string } `json:"errors"`
}

func read[T any](t *testing.T, w *httptest.ResponseRecorder) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(w.Body.Bytes(), &v, json.MatchCaseInsensitiveNames(true)); err != nil {
		t.Fatalf("body %q: %v", w.Body, err)
	}
	return v
}

// want checks the status and the code of an answer.
func want(t *testing.T, w *httptest.ResponseRecorder, status int, code string) {
	t.Helper()
	got := ""
	if w.Code >= 400 {
		got = read[answer](t, w).Code
	}
	if w.Code != status || got != code {
		t.Errorf("got %d %s %s, want %d %s", w.Code, got, w.Body, status, code)
	}
}

func codeOf(err error) string { return fault.CodeOf(err) }

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if got := fault.CodeOf(err); got != code || code == "" && err != nil {
		t.Errorf("got code %q (%v), want %q", got, err, code)
	}
}

func wantEvents(t *testing.T, h *house, events ...string) {
	t.Helper()
	if got := h.takeEvents(); !slices.Equal(got, events) {
		t.Errorf("events = %q, want %q", got, events)
	}
}

// sendHost is send with a Host header.
func sendHost(handler http.Handler, c call, host string) *httptest.ResponseRecorder {
	return send(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Host = host
		handler.ServeHTTP(w, r)
	}), c)
}

var requestID = regexp.MustCompile(`"requestId":"[^"]*"`)

// mask hides what differs between any two answers.
func mask(body string) string { return requestID.ReplaceAllString(body, `"requestId":""`) }

// headerNames are the headers of an answer, sorted.
func headerNames(w *httptest.ResponseRecorder) string {
	return strings.Join(slices.Sorted(maps.Keys(w.Header())), " ")
}
