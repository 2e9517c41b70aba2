package job_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/job"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// ann asks for the jobs of most tests.
var ann = web.Caller{Workspace: "w", DID: "did:x:ann", Key: "key-ann", Scopes: []string{"jobs:*"}}

// clock is a time that moves when told.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) set(t time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = t
}

// rig is one instance of the service on a store.
type rig struct {
	*job.Service
	db   *db.DB
	peer *rig // hears what this one publishes, when set

	mu     sync.Mutex
	events []string // "type subject revision", as recorded
}

// newRig makes an instance; now may be nil.
func newRig(t *testing.T, d *db.DB, now func() time.Time) *rig {
	t.Helper()
	r := &rig{db: d}
	r.Service = job.New(job.Config{
		DB: d, Now: now, Log: dbtest.Log(t), Cursors: web.Cursors{Key: []byte("0123456789abcdef")},
		Publish: func(id string) {
			switch {
			case r.peer == nil:
			case id == "":
				r.peer.Wake()
			default:
				r.peer.CancelHere(id)
			}
		},
		Record: func(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error {
			tx.AfterCommit(func() {
				r.mu.Lock()
				defer r.mu.Unlock()
				r.events = append(r.events, typ+" "+subject+" of "+web.CallerFrom(ctx).Workspace)
			})
			return nil
		},
	})
	return r
}

func (r *rig) recorded() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.events)
}

// enqueue makes a job as c.
func (r *rig) enqueue(t *testing.T, c web.Caller, d job.Draft) string {
	t.Helper()
	ctx := web.WithCaller(t.Context(), c)
	var id string
	err := r.db.InTx(ctx, func(tx *db.Tx) (err error) {
		id, err = r.Enqueue(ctx, tx, d)
		return err
	})
	if err != nil {
		t.Fatalf("enqueue %s: %v", d.Kind, err)
	}
	return id
}

func (r *rig) get(t *testing.T, id string) job.Job {
	t.Helper()
	j, err := r.Get(web.WithCaller(t.Context(), ann), id)
	if err != nil {
		t.Fatalf("get job: %v", err)
	}
	return j
}

// start runs a runner. The returned function stops it and waits; the end of
// the test does too.
func (r *rig) start(t *testing.T, cfg job.RunnerConfig) (stop func()) {
	t.Helper()
	runner, err := r.NewRunner(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		runner.Run(ctx)
	}()
	stop = func() {
		cancel()
		<-done
	}
	t.Cleanup(stop)
	return stop
}

// one is the configuration for one kind of job.
func one(h job.Handler) job.RunnerConfig {
	return job.RunnerConfig{Handlers: map[string]job.Handler{"test.work": h}, Grace: time.Minute}
}

// work is the draft for it.
var work = job.Draft{Kind: "test.work"}

// await polls until ok, and fails the test after ten seconds.
func await(t *testing.T, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	late := time.After(10 * time.Second)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("waited in vain until %s", what)
		}
	}
}

// awaitStatus waits until a job stands at s and returns it.
func (r *rig) awaitStatus(t *testing.T, id string, s job.Status) job.Job {
	t.Helper()
	var j job.Job
	await(t, "job is "+string(s), func() bool {
		j = r.get(t, id)
		return j.Status == s
	})
	return j
}

// exec changes rows behind the service's back.
func (r *rig) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	if n, err := r.db.Exec(t.Context(), sql, args...); err != nil || n == 0 {
		t.Fatalf("changed %d rows: %v", n, err)
	}
}

func (r *rig) count(t *testing.T) int {
	t.Helper()
	var n int
	if err := r.db.QueryRow(t.Context(), `SELECT count(*) FROM jobs`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
