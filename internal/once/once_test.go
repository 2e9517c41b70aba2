package once_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// gate takes "Bearer <workspace>/<principal>[/<key>]" at its word.
type gate struct{}

func (gate) Admit(_ http.Header, r *http.Request, _ web.Scope) (web.Caller, error) {
	part := strings.Split(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "), "/")
	return web.Caller{Workspace: part[0], DID: part[1], Scopes: []string{"*"}, Key: strings.Join(part[2:], "/")}, nil
}

type thingIn struct{ Body thing }

type thing struct {
	ID   string `json:"id"`
	Mode string `json:"mode"`
}

// shop makes things. Its fault hook decides how the use case ends.
type shop struct {
	store *once.Store
	end   func(mode string) error
	known bool // it knows its answer before the transaction
}

func (s *shop) serveCreate(ctx context.Context, in *thingIn) (web.Reply[thing], error) {
	if s.known {
		return s.serveKnown(ctx, in)
	}
	return once.Do(ctx, s.store, func(tx *db.Tx) (web.Reply[thing], error) {
		id := db.NewID()
		if _, err := tx.Exec(ctx, `INSERT INTO things(id) VALUES ($1)`, id); err != nil {
			return web.Reply[thing]{}, err
		}
		if err := s.end(in.Body.Mode); err != nil {
			return web.Reply[thing]{}, err
		}
		if in.Body.Mode == "large" {
			id += strings.Repeat("x", 1<<20)
		}
		return web.Reply[thing]{Value: thing{ID: id, Mode: in.Body.Mode}, Status: 202, ETag: `"7"`, Location: "/v1/things/7", Link: "</v1/things>; rel=up"}, nil
	})
}

// serveKnown is serveCreate by once.DoAs.
func (s *shop) serveKnown(ctx context.Context, in *thingIn) (web.Reply[thing], error) {
	id := db.NewID()
	body, err := web.Encode(thing{ID: id + strings.Repeat("x", map[bool]int{true: 1 << 20}[in.Body.Mode == "large"]), Mode: in.Body.Mode})
	if err != nil {
		return web.Reply[thing]{}, err
	}
	known := web.Reply[thing]{Raw: body, Status: 202, ETag: `"7"`, Location: "/v1/things/7", Link: "</v1/things>; rel=up"}
	return once.DoAs(ctx, s.store, known, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `INSERT INTO things(id) VALUES ($1)`, id); err != nil {
			return err
		}
		return s.end(in.Body.Mode)
	})
}

// bothWays runs a test on both databases, with answers that are known before
// the transaction and with others.
func bothWays(t *testing.T, test func(t *testing.T, f *fixture)) {
	t.Helper()
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("known %v", known), func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				f := newFixture(t, d)
				f.shop.known = known
				test(t, f)
			})
		})
	}
}

type fixture struct {
	db      *db.DB
	store   *once.Store
	shop    *shop
	handler http.Handler
	now     time.Time
}

func serverKey(t testing.TB, text string) secret.Key {
	t.Helper()
	k, err := secret.Parse(strings.Repeat(text, 32))
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func newFixture(t testing.TB, d *db.DB) *fixture {
	t.Helper()
	if _, err := d.Exec(t.Context(), `CREATE TABLE IF NOT EXISTS things (id TEXT PRIMARY KEY)`); err != nil {
		t.Fatal(err)
	}
	f := &fixture{db: d, now: time.UnixMilli(1_700_000_000_000)}
	f.use(t, serverKey(t, "k"))
	return f
}

// use builds the handler around a store with the given key.
func (f *fixture) use(t testing.TB, k secret.Key) {
	t.Helper()
	f.store = once.New(once.Config{DB: f.db, Key: k, Now: func() time.Time { return f.now }})
	f.shop = &shop{store: f.store, end: func(string) error { return nil }}
	log := dbtest.Log(t)
	a := web.NewAPI(web.APIConfig{Name: "things", Gate: gate{}, Log: log})
	doc := web.Doc{Summary: "Make a thing", Status: 201, Scope: "things:write"}
	web.Post(a, "/v1/things", f.shop.serveCreate, doc)
	web.Post(a, "/v1/others", f.shop.serveCreate, doc)
	doc.Scope = web.Public
	web.Post(a, "/v1/public", f.shop.serveCreate, doc)
	mux := http.NewServeMux()
	a.Mount(mux)
	f.handler = web.Observe(log, web.Problem, nil, mux)
}

type sent struct {
	status   int
	head     http.Header
	body     string
	replayed bool
}

func (f *fixture) send(path, who, key, body string) sent {
	r := httptest.NewRequest("POST", path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+who)
	r.Header.Set("Content-Type", "application/json")
	if key != "" {
		r.Header.Set("Idempotency-Key", key)
	}
	w := httptest.NewRecorder()
	f.handler.ServeHTTP(w, r)
	return sent{w.Code, w.Header(), w.Body.String(), w.Header().Get("Idempotent-Replayed") == "true"}
}

func (f *fixture) count(t *testing.T, table string) int {
	t.Helper()
	query := map[string]string{"things": `SELECT count(*) FROM things`, "idem": `SELECT count(*) FROM idem`}[table]
	var n int
	if err := f.db.QueryRow(t.Context(), query).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

func (f *fixture) wantCounts(t *testing.T, things, keys int) {
	t.Helper()
	if n := f.count(t, "things"); n != things {
		t.Errorf("things = %d, want %d", n, things)
	}
	if n := f.count(t, "idem"); n != keys {
		t.Errorf("stored answers = %d, want %d", n, keys)
	}
}

func TestDoUnderLoad(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, f *fixture) {
		answers := make([]sent, 64)
		start := make(chan struct{})
		var wg sync.WaitGroup
		for i := range answers {
			wg.Go(func() {
				<-start
				answers[i] = f.send("/v1/things", "w/ann", "k-1", `{"mode":"a"}`)
			})
		}
		close(start)
		wg.Wait()
		f.wantCounts(t, 1, 1)
		fresh := 0
		for _, a := range answers {
			if a.status != 202 || a.body != answers[0].body {
				t.Fatalf("got %d %s, want 202 %s", a.status, a.body, answers[0].body)
			}
			if !a.replayed {
				fresh++
			}
		}
		if fresh != 1 {
			t.Errorf("%d answers are not replayed, want 1", fresh)
		}
	})
}

func TestReplayIsTheSameAnswer(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, f *fixture) {
		first := f.send("/v1/things", "w/ann", "k-1", `{"mode":"a"}`)
		before := f.db.Stats().Commits
		second := f.send("/v1/things", "w/ann", "k-1", `{"mode":"a"}`)
		if first.replayed || !second.replayed {
			t.Errorf("replayed = %v, %v, want false, true", first.replayed, second.replayed)
		}
		if second.status != first.status || second.body != first.body {
			t.Errorf("second = %d %s, want %d %s", second.status, second.body, first.status, first.body)
		}
		for _, name := range []string{"ETag", "Location", "Link", "Content-Type"} {
			if got, want := second.head.Get(name), first.head.Get(name); got != want || want == "" {
				t.Errorf("%s = %q, want %q", name, got, want)
			}
		}
		if n := f.db.Stats().Commits - before; n != 0 {
			t.Errorf("the replay made %d commits, want none", n)
		}
		f.wantCounts(t, 1, 1)
	})
}

func TestWhoseKey(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, f *fixture) {
		f.send("/v1/things", "w/ann", "k-1", `{}`)
		for i, tt := range []struct {
			name, path, who, key, body string
			status                     int
			code                       string
			replayed                   bool
			things                     int // stored so far
		}{
			{"same", "/v1/things", "w/ann", "k-1", `{}`, 202, "", true, 1},
			{"other body", "/v1/things", "w/ann", "k-1", `{"mode":"b"}`, 422, "IDEMPOTENCY_KEY_REUSED", false, 1},
			{"other route", "/v1/others", "w/ann", "k-1", `{}`, 422, "IDEMPOTENCY_KEY_REUSED", false, 1},
			{"other principal", "/v1/things", "w/bob", "k-1", `{}`, 202, "", false, 2},
			{"other workspace", "/v1/things", "v/ann", "k-1", `{}`, 202, "", false, 3},
			{"another API key of the principal", "/v1/things", "w/ann/p", "k-1", `{}`, 202, "", false, 4},
			{"other key", "/v1/things", "w/ann", "k-2", `{}`, 202, "", false, 5},
			{"no key", "/v1/things", "w/ann", "", `{}`, 202, "", false, 6},
			{"no key again", "/v1/things", "w/ann", "", `{}`, 202, "", false, 7},
			{"unknown caller", "/v1/public", "w/ann", "k-1", `{}`, 202, "", false, 8},
			{"unknown caller again", "/v1/public", "w/ann", "k-1", `{}`, 202, "", false, 9},
		} {
			got := f.send(tt.path, tt.who, tt.key, tt.body)
			if got.status != tt.status || got.replayed != tt.replayed || !strings.Contains(got.body, tt.code) {
				t.Errorf("%d %s: got %d replayed %v %s, want %d %v %s", i, tt.name, got.status, got.replayed, got.body, tt.status, tt.replayed, tt.code)
			}
			if n := f.count(t, "things"); n != tt.things {
				t.Fatalf("%s: things = %d, want %d", tt.name, n, tt.things)
			}
		}
	})
}

func TestFailureFreesTheKey(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		end    func() error
		status int
	}{
		{"fault", func() error { return fault.New(fault.Conflict, "TAKEN", "Taken.") }, 409},
		{"error", func() error { return errors.New("lost") }, 500},
		{"panic", func() error { panic("lost") }, 500},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			bothWays(t, func(t *testing.T, f *fixture) {
				f.shop.end = func(mode string) error {
					if mode == "bad" {
						return tt.end()
					}
					return nil
				}
				if got := f.send("/v1/things", "w/ann", "k-1", `{"mode":"bad"}`); got.status != tt.status {
					t.Errorf("status = %d %s, want %d", got.status, got.body, tt.status)
				}
				f.wantCounts(t, 0, 0)
				// A corrected body under the same key is a new request.
				if got := f.send("/v1/things", "w/ann", "k-1", `{"mode":"good"}`); got.status != 202 || got.replayed {
					t.Errorf("retry = %d replayed %v %s, want 202", got.status, got.replayed, got.body)
				}
				f.wantCounts(t, 1, 1)
			})
		})
	}
}

func TestInProgress(t *testing.T) {
	t.Parallel()
	for _, known := range []bool{false, true} {
		t.Run(fmt.Sprintf("known %v", known), func(t *testing.T) {
			t.Parallel()
			testInProgress(t, known)
		})
	}
}

func testInProgress(t *testing.T, known bool) {
	t.Helper()
	d := dbtest.Postgres(t, dbtest.With(func(c *db.Config) { c.Busy = 200 * time.Millisecond }))
	f := newFixture(t, d)
	f.shop.known = known
	inside, leave, done := make(chan struct{}), make(chan struct{}), make(chan sent)
	f.shop.end = func(mode string) error {
		inside <- struct{}{}
		<-leave
		return nil
	}
	go func() { done <- f.send("/v1/things", "w/ann", "k-1", `{}`) }()
	<-inside
	got := f.send("/v1/things", "w/ann", "k-1", `{}`)
	if got.status != 409 || !strings.Contains(got.body, "IDEMPOTENCY_IN_PROGRESS") || got.head.Get("Retry-After") != "1" {
		t.Errorf("second = %d %s Retry-After %q, want 409 IDEMPOTENCY_IN_PROGRESS after 1", got.status, got.body, got.head.Get("Retry-After"))
	}
	close(leave)
	first := <-done
	if got := f.send("/v1/things", "w/ann", "k-1", `{}`); got.body != first.body || !got.replayed {
		t.Errorf("third = %s replayed %v, want %s", got.body, got.replayed, first.body)
	}
}

func TestLargeAnswer(t *testing.T) {
	t.Parallel()
	bothWays(t, func(t *testing.T, f *fixture) {
		if got := f.send("/v1/things", "w/ann", "k-1", `{"mode":"large"}`); got.status != 202 || len(got.body) <= 1<<20 {
			t.Errorf("first = %d with %d bytes, want the whole answer", got.status, len(got.body))
		}
		if got := f.send("/v1/things", "w/ann", "k-1", `{"mode":"large"}`); got.status != 409 || !strings.Contains(got.body, "IDEMPOTENCY_ANSWER_LOST") {
			t.Errorf("second = %d %.200s, want IDEMPOTENCY_ANSWER_LOST", got.status, got.body)
		}
		f.wantCounts(t, 1, 1)
	})
}

// TestPlain: without stored answers a key changes nothing.
func TestPlain(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		f.shop.store = once.Plain(d)
		for range 2 {
			if got := f.send("/v1/things", "w/ann", "k-1", `{}`); got.status >= 300 || got.replayed {
				t.Errorf("answer = %d, replayed %v, want a fresh one", got.status, got.replayed)
			}
		}
		f.wantCounts(t, 2, 0)
	})
}

func TestExpire(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f := newFixture(t, d)
		for i := range 120 {
			f.send("/v1/things", "w/ann", fmt.Sprintf("old-%d", i), `{}`)
		}
		cut := f.now.Add(time.Hour)
		f.now = cut
		f.send("/v1/things", "w/ann", "new", `{}`)
		for _, want := range []int{5, 105, 10, 0} {
			limit := max(want, 5)
			if want == 10 {
				limit = 1000
			}
			if n, err := f.store.Expire(t.Context(), cut, limit); n != want || err != nil {
				t.Errorf("Expire(%d) = %d, %v, want %d", limit, n, err, want)
			}
		}
		f.wantCounts(t, 121, 1)
		if got := f.send("/v1/things", "w/ann", "new", `{}`); !got.replayed {
			t.Error("the newest answer is gone")
		}
		if got := f.send("/v1/things", "w/ann", "old-1", `{}`); got.replayed {
			t.Error("an expired answer is still given")
		}
	})
}

// TestForget: what was done stays done, and nothing that names somebody can be
// read again. Answers that name others are as they were.
func TestForget(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		const many = 250 // more than one transaction blanks
		f := newFixture(t, d)
		body := func(i int) string { return `{"mode":"did:x:1` + strings.Repeat("2", i%2) + `"}` } // did:x:1 or did:x:12
		for i := range many {
			f.send("/v1/things", "w/ann", fmt.Sprint("k-", i), body(i))
		}
		other := f.send("/v1/things", "x/ann", "k-1", `{"mode":"did:x:1"}`)
		if err := f.store.Forget(t.Context(), "w", []string{"did:x:1"}); err != nil {
			t.Fatal(err)
		}
		for _, i := range []int{0, 98, 100, many - 2} {
			got := f.send("/v1/things", "w/ann", fmt.Sprint("k-", i), body(i))
			if got.status != 409 || !strings.Contains(got.body, "IDEMPOTENCY_ANSWER_LOST") {
				t.Errorf("key %d again = %d %.200s, want IDEMPOTENCY_ANSWER_LOST", i, got.status, got.body)
			}
			if got := f.send("/v1/things", "w/ann", fmt.Sprint("k-", i+1), body(i+1)); got.status != 202 || !got.replayed {
				t.Errorf("key %d of somebody else = %d %.200s, want the answer", i+1, got.status, got.body)
			}
		}
		if again := f.send("/v1/things", "x/ann", "k-1", `{"mode":"did:x:1"}`); again.body != other.body || !again.replayed {
			t.Errorf("another workspace = %s, want %s", again.body, other.body)
		}
		f.wantCounts(t, many+1, many+1)
	})
}
