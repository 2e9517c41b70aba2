package device_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/device"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// today is the clock of all tests.
var today = time.Date(2024, 3, 1, 12, 0, 0, 0, time.UTC)

const project = "did:ixo:entity:00000000000000000000000000000001"

// caller makes a caller of a workspace. "owner" may everything; "device" and
// "thief" have the scopes of the role device; "auditor" reads; "manager" may
// change twins; "registrar" does not read them; "project" is limited to one project.
func caller(ws, role string) web.Caller {
	c := web.Caller{Workspace: ws, DID: "did:key:" + role, Key: "key-" + role + "-" + ws}
	switch role {
	case "owner":
		c.Scopes = []string{"*"}
	case "device", "thief":
		c.Scopes = []string{"devices:read", "devices:write"}
	case "auditor":
		c.Scopes = []string{"devices:read", "entities:read"}
	case "writer":
		c.Scopes = []string{"devices:read", "devices:write", "entities:read"}
	case "manager":
		c.Scopes = []string{"devices:*", "entities:read", "entities:write"}
	case "registrar":
		c.Scopes = []string{"entities:write"}
	case "project":
		c.Scopes, c.Projects = []string{"*"}, []string{project}
	}
	return c
}

func as(ctx context.Context, ws, role string) context.Context {
	return web.WithCaller(ctx, caller(ws, role))
}

type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, scope web.Scope) (web.Caller, error) {
	ws, role, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), " ")
	if !ok {
		return web.Caller{}, fault.New(fault.Unauthenticated, "KEY_MISSING", "Send a key.")
	}
	c := caller(ws, role)
	if !scope.Open(c.May) {
		return web.Caller{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "The scope "+string(scope)+" is missing.")
	}
	return c, nil
}

// env is a store with all that devices need.
type env struct {
	d *db.DB
	l *event.Log
	e *entity.Service
	s *device.Service
	h http.Handler
}

func newEnv(t testing.TB, d *db.DB, change ...func(*device.Config)) *env {
	t.Helper()
	now := func() time.Time { return today }
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	store := once.New(once.Config{DB: d, Key: key})
	l := event.New(event.Config{DB: d, Cursors: eventtest.Cursors()})
	p := protocol.New(protocol.Config{DB: d, Events: l, Cursors: eventtest.Cursors(), Now: now, Log: dbtest.Log(t)})
	var s *device.Service
	e := entity.New(entity.Config{
		DB: d, Protocols: p, Events: l, Idem: store, Cursors: eventtest.Cursors(), Now: now, Log: dbtest.Log(t),
		Moved: func(ctx context.Context, tx *db.Tx, r *entity.Row) error { return s.Moved(ctx, tx, r) },
	})
	cfg := device.Config{DB: d, Entities: e, Protocols: p, Events: l, Idem: store, Cursors: eventtest.Cursors(), Now: now}
	for _, f := range change {
		f(&cfg)
	}
	s = device.New(cfg)
	a := web.NewAPI(web.APIConfig{Name: "test", Gate: gate{}, Errors: web.Problem})
	s.Routes(a)
	e.Routes(a)
	return &env{d: d, l: l, e: e, s: s, h: webtest.Handler(t, a)}
}

// send sends a request as a role of workspace ws.
func (e *env) send(t testing.TB, role, method, path, body string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer ws "+role)
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	w := httptest.NewRecorder()
	e.h.ServeHTTP(w, r)
	return w
}

// with sends a request as the owner, with a body.
func (e *env) with(t testing.TB, r *http.Request, body string) *httptest.ResponseRecorder {
	t.Helper()
	req := httptest.NewRequestWithContext(t.Context(), r.Method, r.URL.String(), strings.NewReader(body))
	req.Header = r.Header
	req.Header.Set("Authorization", "Bearer ws owner")
	req.Header.Set("Content-Type", "application/json")
	w := httptest.NewRecorder()
	e.h.ServeHTTP(w, req)
	return w
}

// get reads a path as the owner and decodes the answer.
func get[T any](t testing.TB, e *env, path string) T {
	t.Helper()
	w := e.send(t, "owner", "GET", path, "")
	var out T
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil || w.Code != 200 {
		t.Fatalf("GET %s = %d %s, %v", path, w.Code, w.Body, err)
	}
	return out
}

// all follows the pages of a list to its end.
func all[T any](t testing.TB, e *env, path string) []T {
	t.Helper()
	var out []T
	next := path
	for range 10_000 {
		p := get[web.Page[T]](t, e, next)
		out = append(out, p.Items...)
		if !p.Page.HasMore {
			return out
		}
		next = path + "&cursor=" + p.Page.NextCursor
	}
	t.Fatalf("%s does not end", path)
	return nil
}

// register makes a monitor and gives its DID.
func (e *env) register(t testing.TB, d device.Draft) string {
	t.Helper()
	if d.Type == "" {
		d.Type = "StoveUseMonitor"
	}
	r, err := e.s.CreateDevice(as(t.Context(), "ws", "owner"), d)
	if err != nil {
		t.Fatalf("register device: %v", err)
	}
	return r.Value.DID
}

// reading is a reading of a device at a time.
func reading(at time.Time, temp float64) device.ReadingDraft {
	return device.ReadingDraft{Timestamp: at.Format(time.RFC3339Nano), Temperature: &temp}
}

// series makes n readings from a time on, every five minutes, hot for half an
// hour in every three.
func series(from time.Time, n int) []device.ReadingDraft {
	out := make([]device.ReadingDraft, n)
	for i := range out {
		temp := 20 + float64(i%7)
		if i%36 < 6 {
			temp += 60
		}
		out[i] = reading(from.Add(time.Duration(i)*5*time.Minute), temp)
	}
	return out
}

// add stores a batch as the owner.
func (e *env) add(t testing.TB, id string, readings ...device.ReadingDraft) device.Outcome {
	t.Helper()
	r, err := e.s.Add(as(t.Context(), "ws", "owner"), id, device.Batch{Readings: readings}, false)
	if err != nil {
		t.Fatalf("add readings: %v", err)
	}
	return r.Value
}

// stored counts readings of all devices.
func (e *env) stored(t testing.TB) int {
	t.Helper()
	var n int
	if err := e.d.QueryRow(t.Context(), `SELECT count(*) FROM device_readings WHERE device > $1`, 0).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// events lists the types of the events in the log of ws that begin with a
// word.
func (e *env) events(t testing.TB, prefix string) []event.Item {
	t.Helper()
	b, err := e.l.Read(t.Context(), event.Query{Workspace: "ws", Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var out []event.Item
	for _, it := range b.Items {
		if strings.HasPrefix(it.Type, prefix) {
			out = append(out, it)
		}
	}
	return out
}

func code(err error) string { return fmt.Sprint(fault.CodeOf(err)) }
