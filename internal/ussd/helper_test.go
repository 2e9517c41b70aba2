package ussd_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/ussd"
	"github.com/hearth-dmrv/hearth/internal/ussd/machine"
	"github.com/hearth-dmrv/hearth/internal/ussd/menu"
	"github.com/hearth-dmrv/hearth/internal/ussd/wire"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

// packs holds packs as a registry does.
type packs struct{ held []*menu.Pack } // the first is the current one

func (p *packs) Current() *menu.Pack { return p.held[0] }

func (p *packs) Version(v string) *menu.Pack {
	for _, k := range p.held {
		if k.Version == v {
			return k
		}
	}
	return nil
}

// readPack reads the pack of tests, with changes to its text.
func readPack(t testing.TB, oldnew ...string) *menu.Pack {
	t.Helper()
	data, err := os.ReadFile("testdata/small.yaml")
	if err != nil {
		t.Fatal(err)
	}
	p, err := menu.Parse("small.yaml", []byte(strings.NewReplacer(oldnew...).Replace(string(data))), machine.Known(actions(nil)))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// pinOfAll is the PIN that logs in.
const pinOfAll = "48213"

// actions are those of the pack of tests. Their effects are rows.
func actions(before func(machine.ActionCall) error) map[string]machine.Action {
	store := func(ctx context.Context, tx *db.Tx, c machine.ActionCall, what string) error {
		if before != nil {
			if err := before(c); err != nil {
				return err
			}
		}
		_, err := tx.Exec(ctx, `INSERT INTO test_effects(phone, what, key) VALUES ($1, $2, $3)`, c.Phone, what, c.Key)
		return err
	}
	account := "acc-1"
	return map[string]machine.Action{
		"send": {Effect: true, Results: []string{"queued", "off"}, Sets: []string{"count"}, Run: func(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
			if err := store(ctx, tx, c, "send "+c.Arg("topic")); err != nil {
				return machine.Result{}, err
			}
			var n int
			err := tx.QueryRow(ctx, `SELECT count(*) FROM test_effects WHERE phone = $1 AND what = 'send reading'`, c.Phone).Scan(&n)
			return machine.Result{Name: "queued", Set: map[string]string{"count": strconv.Itoa(n)}}, err
		}},
		"join": {Effect: true, Results: []string{"ok", "weak"}, Run: func(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
			if c.Secrets["pin"] == "11111" {
				return machine.Result{Name: "weak"}, nil
			}
			return machine.Result{Name: "ok"}, store(ctx, tx, c, "join "+c.Vars["name"]+"/"+c.Vars["town"])
		}},
		"login": {Effect: true, Results: []string{"ok", "wrong"}, Sets: []string{"who"}, Run: func(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
			if c.Secrets["pin"] != pinOfAll {
				return machine.Result{Name: "wrong"}, store(ctx, tx, c, "wrong")
			}
			return machine.Result{Name: "ok", Account: &account, Set: map[string]string{"who": "Asha"}}, nil
		}},
		"order": {Effect: true, Results: []string{"ok"}, Run: func(ctx context.Context, tx *db.Tx, c machine.ActionCall) (machine.Result, error) {
			return machine.Result{Name: "ok"}, store(ctx, tx, c, "order "+c.Vars["amount"])
		}},
	}
}

// clock is a time that tests move. It advances a little with each look, as
// time does.
type clock struct{ at atomic.Int64 }

func newClock() *clock {
	c := &clock{}
	c.at.Store(time.Date(2026, 11, 15, 9, 0, 0, 0, time.UTC).UnixMicro())
	return c
}

func (c *clock) now() time.Time       { return time.UnixMicro(c.at.Add(1)).UTC() }
func (c *clock) pass(d time.Duration) { c.at.Add(d.Microseconds()) }
func testKey(t testing.TB) secret.Key { return must(secret.Parse(strings.Repeat("k", 32)))(t) }
func otherKey(t testing.TB) secret.Key {
	return must(secret.Parse(strings.Repeat("x", 32)))(t)
}

// shipped are the gateways that are built in, read once.
var shipped = sync.OnceValues(func() (*wire.Set, error) { return wire.Open("") })

func must[T any](v T, err error) func(testing.TB) T {
	return func(t testing.TB) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

// line is a service with its routes, over a store that a test can share.
type line struct {
	*ussd.Service
	t     testing.TB
	db    *db.DB
	clock *clock
	http  http.Handler
}

// newLine makes a service on d. Several on the same store are instances.
func newLine(t testing.TB, d *db.DB, c *clock, change ...func(*ussd.Config)) *line {
	t.Helper()
	cfg := ussd.Config{
		DB: d, Key: testKey(t), Actions: actions(nil), Gateways: must(shipped())(t),
		Log: dbtest.Log(t), Now: c.now,
	}
	for _, f := range change {
		f(&cfg)
	}
	if cfg.Packs == nil { // reading it takes longer than all the rest here
		cfg.Packs = &packs{[]*menu.Pack{readPack(t)}}
	}
	s := ussd.New(cfg)
	t.Cleanup(s.Wait)
	api := web.NewAPI(web.APIConfig{Name: "USSD", Errors: web.End, Gate: gate{}, Log: dbtest.Log(t)})
	s.Routes(api)
	s.OperatorRoutes(api)
	mux := webtest.Handler(t, api)
	proxies := must(web.NewProxies(false, nil))(t)
	return &line{Service: s, t: t, db: d, clock: c, http: web.WithRequestIDs(proxies.Middleware(s.Guard(mux)))}
}

// gate lets in whoever says to be an operator.
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, _ web.Scope) (web.Caller, error) {
	if r.Header.Get("X-Operator") == "" {
		return web.Caller{}, fault.New(fault.NotFound, "ROUTE_NOT_FOUND", "Cannot "+r.Method+" "+r.URL.Path)
	}
	return web.Caller{}, nil
}

// withEffects makes the table of what test actions do.
func withEffects(t testing.TB, d *db.DB) {
	t.Helper()
	if _, err := d.Exec(t.Context(), `CREATE TABLE test_effects (phone TEXT NOT NULL, what TEXT NOT NULL, key TEXT NOT NULL)`); err != nil {
		t.Fatal(err)
	}
}

const (
	phone1 = "+254700000001"
	phone2 = "+254700000002"
)

// body is the JSON of a documented request.
func body(session, phone, text string) string {
	return fmt.Sprintf(`{"sessionId":%q,"serviceCode":"*2233#","phoneNumber":%q,"text":%q}`, session, phone, text)
}

func (l *line) post(path, contentType, body string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(l.t.Context(), http.MethodPost, path, strings.NewReader(body))
	r.Header.Set("Content-Type", contentType)
	w := httptest.NewRecorder()
	l.http.ServeHTTP(w, r)
	return w
}

func (l *line) get(path string) *httptest.ResponseRecorder {
	r := httptest.NewRequestWithContext(l.t.Context(), http.MethodGet, path, nil)
	r.Header.Set("X-Operator", "yes")
	w := httptest.NewRecorder()
	l.http.ServeHTTP(w, r)
	return w
}

// send is one key press; it gives the answer's text.
func (l *line) send(session, phone, text string) string {
	l.t.Helper()
	w := l.post("/api/ussd", "application/json", body(session, phone, text))
	if w.Code != http.StatusOK {
		l.t.Fatalf("POST %q = %d %s, want 200", text, w.Code, w.Body)
	}
	return w.Body.String()
}

// effects lists what actions have done for a number.
func (l *line) effects(phone string) []string {
	l.t.Helper()
	rows, err := l.db.Query(l.t.Context(), `SELECT what FROM test_effects WHERE phone = $1`, phone)
	if err != nil {
		l.t.Fatal(err)
	}
	defer rows.Close()
	out := []string{}
	for rows.Next() {
		var what string
		if err := rows.Scan(&what); err != nil {
			l.t.Fatal(err)
		}
		out = append(out, what)
	}
	if err := rows.Err(); err != nil {
		l.t.Fatal(err)
	}
	return out
}
