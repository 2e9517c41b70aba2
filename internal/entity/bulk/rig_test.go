package bulk_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/did"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/bulk"
	"github.com/hearth-dmrv/hearth/internal/entity/protocol"
	"github.com/hearth-dmrv/hearth/internal/entity/search"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/event/eventtest"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/once"
	"github.com/hearth-dmrv/hearth/internal/secret"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	household = "did:ixo:protocol/household"
	cooker    = "did:ixo:protocol/clean-cooking"
	ndjson    = "application/x-ndjson"
	csvType   = "text/csv"
)

type orders = exchange.Service

// rig is one instance with everything bulk work needs.
type rig struct {
	*bulk.Service
	*orders
	db   *db.DB
	log  *event.Log
	jobs *job.Service
	ents *entity.Service
	h    http.Handler

	flights file.Flights

	dids       atomic.Int64 // DIDs that were made
	hook       atomic.Value // func(n int64), called with each
	tick       atomic.Value // func(n int)
	entityTick atomic.Value // func(n int)
	ticks      atomic.Int64
	mu         sync.Mutex
	now        time.Duration // added to the clock
	done       chan struct{} // some job has ended
}

func newRig(t testing.TB, d *db.DB) *rig {
	t.Helper()
	key, err := secret.Parse("0123456789abcdef0123456789abcdef")
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{db: d, done: make(chan struct{}, 100)}
	cursors := eventtest.Cursors()
	r.log = event.New(event.Config{DB: d, Cursors: cursors})
	r.jobs = job.New(job.Config{DB: d, Cursors: cursors, Now: r.clock, Record: func(_ context.Context, tx *db.Tx, _, _ string, _ int64) error {
		tx.AfterCommit(func() { r.done <- struct{}{} })
		return nil
	}})
	store := once.New(once.Config{DB: d, Key: key})
	protocols := protocol.New(protocol.Config{DB: d, Events: r.log, Cursors: cursors, Idem: store})
	r.ents = entity.New(entity.Config{
		DB: d, Protocols: protocols, Events: r.log, Idem: store, Cursors: cursors, NewDID: r.newDID, Now: r.entityClock,
		ControlsAs: func(context.Context, db.Querier, web.Caller) ([]string, error) { return nil, nil },
	})
	find := search.New(search.Config{DB: d, Protocols: protocols, Cursors: cursors, Key: key})
	r.orders = exchange.New(exchange.Config{DB: d, Jobs: r.jobs, Now: r.bulkClock, Flights: &r.flights})
	r.Service = bulk.New(bulk.Config{
		DB: d, Entities: r.ents, Protocols: protocols, Search: find, Events: r.log, Exchange: r.orders, Idem: store, Cursors: cursors, Now: r.bulkClock,
	})
	r.h = eventtest.Serve(t, protocols.Routes, r.ents.Routes, find.Routes, r.jobs.Routes, r.Routes)
	return r
}

func (r *rig) clock() time.Time {
	r.mu.Lock()
	defer r.mu.Unlock()
	return time.Now().Add(r.now)
}

// bulkClock is the clock of the bulk service, which tests may watch.
func (r *rig) bulkClock() time.Time {
	if f, ok := r.tick.Load().(func(int)); ok && f != nil {
		f(int(r.ticks.Add(1)))
	}
	return r.clock()
}

// entityClock is that of the entity service.
func (r *rig) entityClock() time.Time {
	if f, ok := r.entityTick.Load().(func(int)); ok && f != nil {
		f(int(r.ticks.Add(1)))
	}
	return r.clock()
}

func (r *rig) onEntityClock(f func(n int)) {
	r.ticks.Store(0)
	r.entityTick.Store(f)
}

// onClock has f called when the bulk service reads its clock.
func (r *rig) onClock(f func(n int)) {
	r.ticks.Store(0)
	r.tick.Store(f)
}

func (r *rig) forward(by time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.now += by
}

func (r *rig) newDID() did.DID {
	n := r.dids.Add(1)
	if f, ok := r.hook.Load().(func(int64)); ok {
		f(n)
	}
	return did.NewEntity()
}

// start runs the jobs until the test ends. wrap may change a handler.
func (r *rig) start(t testing.TB, wrap ...func(job.Handler) job.Handler) {
	t.Helper()
	handlers := r.Handlers()
	for kind, h := range handlers {
		for _, w := range wrap {
			h = w(h)
		}
		handlers[kind] = h
	}
	runner, err := r.jobs.NewRunner(job.RunnerConfig{Handlers: handlers, Backoff: func(int) time.Duration { return 0 }})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		runner.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// killer cancels the runs of jobs at will: each run's own context ends, as if
// the process had gone, and the job is tried again.
type killer struct {
	mu   sync.Mutex
	kill context.CancelFunc
}

func (k *killer) wrap(h job.Handler) job.Handler {
	return func(ctx context.Context, run *job.Run) error {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		k.mu.Lock()
		k.kill = cancel
		k.mu.Unlock()
		return h(ctx, run)
	}
}

func (k *killer) now() {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.kill != nil {
		k.kill()
	}
}

// call sends a request and decodes the answer.
type call struct {
	method, path, as, ws string
	header               map[string]string
	body                 any // string and []byte as they are, anything else as JSON
}

func (r *rig) send(t testing.TB, c call) *httptest.ResponseRecorder {
	t.Helper()
	var body []byte
	kind := ""
	switch b := c.body.(type) {
	case nil:
	case string:
		body = []byte(b)
	case []byte:
		body = b
	default:
		var err error
		if body, err = json.Marshal(b, json.Deterministic(true)); err != nil {
			t.Fatal(err)
		}
		kind = "application/json"
	}
	if c.method == "" {
		c.method = http.MethodGet
	}
	req := httptest.NewRequestWithContext(t.Context(), c.method, c.path, bytes.NewReader(body))
	if kind != "" {
		req.Header.Set("Content-Type", kind)
	}
	ws, as := "w", "owner"
	if c.ws != "" {
		ws = c.ws
	}
	if c.as != "" {
		as = c.as
	}
	req.Header.Set("Authorization", "Bearer "+ws+" "+as)
	for name, v := range c.header {
		req.Header.Set(name, v)
	}
	w := httptest.NewRecorder()
	r.h.ServeHTTP(w, req)
	return w
}

// do sends a request that must be answered with status, into v.
func (r *rig) do(t testing.TB, c call, status int, v any) *httptest.ResponseRecorder {
	t.Helper()
	w := r.send(t, c)
	if w.Code != status {
		t.Fatalf("%s %s = %d, want %d: %s", c.method, c.path, w.Code, status, w.Body)
	}
	if v != nil {
		if err := json.Unmarshal(w.Body.Bytes(), v); err != nil {
			t.Fatalf("%s %s: %v in %s", c.method, c.path, err, w.Body)
		}
	}
	return w
}

// upload begins an import and returns its id.
func (r *rig) upload(t testing.TB, query url.Values, contentType string, file any) string {
	t.Helper()
	var j job.Job
	w := r.do(t, call{method: "POST", path: "/v1/imports?" + query.Encode(), header: map[string]string{"Content-Type": contentType}, body: file}, 202, &j)
	if got, want := w.Header().Get("Location"), "/v1/jobs/"+j.ID; got != want || j.Kind != "entity.import" {
		t.Fatalf("Location = %q of a %s, want %q", got, j.Kind, want)
	}
	return j.ID
}

// wait waits for the end of a job.
func (r *rig) wait(t testing.TB, id string) job.Job {
	t.Helper()
	return r.waitIn(t, "w", id)
}

func (r *rig) waitIn(t testing.TB, ws, id string) job.Job {
	t.Helper()
	ctx, stop := context.WithTimeout(web.WithCaller(t.Context(), eventtest.Caller(ws, "owner")), 2*time.Minute)
	defer stop()
	for {
		j, err := r.jobs.Get(ctx, id)
		if err != nil {
			t.Fatal(err)
		}
		if j.Status.Final() {
			return j
		}
		select {
		case <-r.done:
		case <-ctx.Done():
			t.Fatalf("job %s does not end: %+v", id, j)
		}
	}
}

// imported waits for an import and reads it.
func (r *rig) imported(t testing.TB, id string) bulk.Import {
	t.Helper()
	r.wait(t, id)
	var i bulk.Import
	r.do(t, call{path: "/v1/imports/" + id}, 200, &i)
	return i
}

// report reads all rows of a report.
func (r *rig) report(t testing.TB, path string) []bulk.ReportRow {
	t.Helper()
	var out []bulk.ReportRow
	cursor := ""
	for {
		var p web.Page[bulk.ReportRow]
		sep := "?"
		if strings.Contains(path, "?") {
			sep = "&"
		}
		r.do(t, call{path: path + sep + "limit=7" + cursor}, 200, &p)
		out = append(out, p.Items...)
		if !p.Page.HasMore {
			return out
		}
		cursor = "&cursor=" + p.Page.NextCursor
	}
}

// tables are all that bulk work could leave something in.
var tables = []string{
	"entities", "entity_history", "entity_props", "entity_externals", "relationships", "events", "transfers", "transfer_rows",
	"transfer_files", "transfer_pieces", "batch_results", "jobs",
}

// counts counts the rows of all tables.
func (r *rig) counts(t testing.TB) map[string]int {
	t.Helper()
	out := map[string]int{}
	for _, table := range tables {
		var n int
		if err := r.db.QueryRow(t.Context(), `SELECT count(*) FROM `+table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		out[table] = n
	}
	return out
}

// households is a file of n households.
func households(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `{"type":"Household","protocol":%q,"properties":{"name":"H%d","size":%d,"district":"D%d"},"externalIds":{"erp":"E%d"}}`+"\n", household, i, i%9, i%5, i)
	}
	return b.String()
}

// both runs a test on both databases.
func both(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) { f(t, newRig(t, d)) })
}

// rule runs a test of what is the same on any database.
func rule(t *testing.T, f func(t *testing.T, r *rig)) {
	t.Helper()
	t.Parallel()
	dbtest.Any(t, func(t *testing.T, d *db.DB) { f(t, newRig(t, d)) })
}
