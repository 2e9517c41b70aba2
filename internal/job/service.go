package job

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// system is the creator of jobs that no caller asked for.
const system = "system"

// Config configures a Service. DB and Cursors are needed.
type Config struct {
	DB      *db.DB
	Cursors web.Cursors
	Log     *slog.Logger     // discards by default
	Now     func() time.Time // the clock of the store by default

	// Publish tells other instances about new work when id is "", and about a
	// cancelled job when it is the job's id. They call Wake or CancelHere. It
	// must not block.
	Publish func(id string)

	// Record appends job.finished, job.completed_with_errors, job.failed and
	// job.cancelled in the transaction that ends a job. The caller in ctx is
	// the one who asked for it.
	Record func(ctx context.Context, tx *db.Tx, typ, subject string, revision int64) error
}

// Service enqueues jobs and shows them. A Runner runs them.
type Service struct {
	cfg  Config
	wake chan struct{} // cap 1: there may be work

	mu      sync.Mutex
	running map[string]*stopper // the runs of this process, by job

	shared map[string]func(ctx context.Context, payload []byte) bool
}

// New makes a Service.
func New(cfg Config) *Service {
	cfg.Log = cmp.Or(cfg.Log, slog.New(slog.DiscardHandler))
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	if cfg.Publish == nil {
		cfg.Publish = func(string) {}
	}
	if cfg.Record == nil {
		cfg.Record = func(context.Context, *db.Tx, string, string, int64) error { return nil }
	}
	return &Service{cfg: cfg, wake: make(chan struct{}, 1), running: map[string]*stopper{}, shared: map[string]func(context.Context, []byte) bool{}}
}

// Share lets callers read jobs of a kind that they did not start: those for
// which may returns true for the job's payload. Call it before the first
// request.
func (s *Service) Share(kind string, may func(ctx context.Context, payload []byte) bool) {
	s.shared[kind] = may
}

// Enqueue stores a job in tx and returns its id. It becomes visible, and its
// work begins, when tx is committed. With a Key that a job of the same
// workspace and kind has, finished or not, it returns that job's id instead.
func (s *Service) Enqueue(ctx context.Context, tx *db.Tx, d Draft) (string, error) {
	if err := d.Validate(); err != nil {
		return "", err
	}
	c := web.CallerFrom(ctx)
	now := s.cfg.Now()
	r := &row{
		nid: s.cfg.DB.NewNID(), id: db.NewID(), ws: c.Workspace, kind: d.Kind, status: Queued, max: d.MaxAttempts,
		createdBy: c.DID, requestID: web.RequestID(ctx), created: now.UnixMilli(), due: new(int64),
	}
	r.about = strings.ReplaceAll(d.About, "{id}", r.id)
	if *r.due = r.created; d.RunAt.After(now) {
		*r.due = d.RunAt.UnixMilli()
	}
	if r.max == 0 {
		r.max = defaultAttempts
	}
	if r.createdBy == "" {
		r.createdBy = system
	}
	if d.Key != "" {
		r.dedupe = &d.Key
	}
	var err, errOwner error
	r.payload, err = encode("payload", d.Payload)
	r.caller, errOwner = encode("caller", owner{Key: c.Key, Signer: c.Signer, Through: c.Through, Scopes: c.Scopes, Projects: c.Projects})
	if err := errors.Join(err, errOwner); err != nil {
		return "", fmt.Errorf("enqueue %s: %w", d.Kind, err)
	}
	made, err := insert(ctx, tx, r)
	if err != nil {
		return "", err
	}
	if !made {
		return findByKey(ctx, tx, r.ws, r.kind, d.Key)
	}
	tx.AfterCommit(s.announce)
	return r.id, nil
}

// Accepted is the answer of a route whose work continues in a job: 202, the
// address of the job, and the job. The route has checked that the caller may
// know it; q is the transaction that has enqueued or found it.
func (s *Service) Accepted(ctx context.Context, q db.Querier, id string) (web.Reply[Job], error) {
	r, err := findAny(ctx, q, web.CallerFrom(ctx).Workspace, id)
	if err != nil {
		return web.Reply[Job]{}, err
	}
	p, err := reply(r)
	p.Status, p.Location = 202, Path(id)
	return p, err
}

// Get reads a job of the caller's workspace. The fault is JOB_NOT_FOUND.
func (s *Service) Get(ctx context.Context, id string) (Job, error) {
	r, err := find(ctx, s.cfg.DB, web.CallerFrom(ctx), id)
	if err != nil {
		return Job{}, err
	}
	return r.job()
}

// Among reads those of some jobs that the caller may know, without their
// results.
func (s *Service) Among(ctx context.Context, ids []string) (map[string]Job, error) {
	c := web.CallerFrom(ctx)
	rows, err := among(ctx, s.cfg.DB, c.Workspace, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[string]Job, len(rows))
	for i := range rows {
		if !visible(c, &rows[i]) {
			continue
		}
		if out[rows[i].id], err = rows[i].job(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Show is Get for callers who started the job, may read it as one of its kind
// (Share) or have the scope jobs:read. Anybody else gets SCOPE_MISSING, which
// does not reveal whether there is such a job.
func (s *Service) Show(ctx context.Context, id string) (Job, error) {
	c := web.CallerFrom(ctx)
	r, err := findAny(ctx, s.cfg.DB, c.Workspace, id)
	if err != nil && fault.KindOf(err) != fault.NotFound {
		return Job{}, err
	}
	if err == nil && len(c.Scopes) > 0 {
		may := s.shared[r.kind]
		if visible(c, r) && (c.May("jobs:read") || c.DID == r.createdBy) || may != nil && may(ctx, []byte(r.payload)) {
			return r.job()
		}
	}
	if c.May("jobs:read") {
		return Job{}, notFound()
	}
	return Job{}, fault.New(fault.Forbidden, "SCOPE_MISSING", "Reading a job that you did not start needs the scope jobs:read.")
}

// Filter selects jobs; empty members select all.
type Filter struct {
	Status Status
	Kind   string
}

// scanBudget limits how many jobs one page looks at when no index matches
// exactly.
const scanBudget = 1000

// List returns at most limit jobs of the caller's workspace below a place, 0
// for the first page, newest first and without their results. next is the place
// of the next page, 0 when there is none. A page may be short although next is
// set.
func (s *Service) List(ctx context.Context, f Filter, below int64, limit int) (jobs []Job, next int64, err error) {
	c := web.CallerFrom(ctx)
	if below == 0 {
		below = math.MaxInt64
	}
	budget := limit
	if f.Status != "" && f.Kind != "" || len(c.Projects) > 0 {
		budget = max(limit, scanBudget)
	}
	var bad error
	looked, last, more := 0, int64(0), false
	jobs = []Job{}
	err = candidates(ctx, s.cfg.DB, place{ws: c.Workspace, kind: f.Kind, status: f.Status, below: below}, budget+1, func(r *row) bool {
		if len(jobs) == limit || looked == budget {
			more = true
			return false
		}
		looked, last = looked+1, r.nid
		if visible(c, r) && (f.Kind == "" || r.kind == f.Kind) {
			var j Job
			j, bad = r.job()
			jobs = append(jobs, j)
		}
		return bad == nil
	})
	if err := errors.Join(err, bad); err != nil {
		return nil, 0, err
	}
	if more {
		next = last
	}
	return jobs, next, nil
}

// Cancel stops a job of the caller's workspace: a queued one at once, a running
// one by its context, wherever it runs. It returns the job in its new state.
// The fault for one that has already ended otherwise is JOB_FINISHED.
func (s *Service) Cancel(ctx context.Context, id string) (Job, error) {
	var j Job
	err := s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		r, err := find(ctx, tx, web.CallerFrom(ctx), id)
		if err != nil {
			return err
		}
		status, revision, changed, err := requestCancel(ctx, tx, r.nid, s.cfg.Now().UnixMilli())
		if err != nil {
			return err
		}
		if changed && status == Cancelled {
			if err := s.record(ctx, tx, r, Cancelled, revision); err != nil {
				return err
			}
		}
		if changed {
			tx.AfterCommit(func() {
				s.CancelHere(id)
				s.cfg.Publish(id)
			})
		}
		if r, err = find(ctx, tx, web.CallerFrom(ctx), id); err != nil {
			return err
		}
		if r.status.Final() && r.status != Cancelled {
			return fault.New(fault.Conflict, "JOB_FINISHED", "The job has ended already.")
		}
		j, err = r.job()
		return err
	})
	if err != nil {
		return Job{}, err
	}
	return j, nil
}

// record notes the end of a job of a workspace.
func (s *Service) record(ctx context.Context, tx *db.Tx, r *row, ended Status, revision int64) error {
	typ := map[Status]string{Succeeded: "job.finished", CompletedWithErrors: "job.completed_with_errors", Failed: "job.failed", Cancelled: "job.cancelled"}[ended]
	if r.ws == "" || typ == "" {
		return nil
	}
	if err := s.cfg.Record(ctx, tx, typ, r.id, revision); err != nil {
		return fmt.Errorf("record %s: %w", typ, err)
	}
	return nil
}

// Expire removes at most limit jobs that ended before a time, the oldest first,
// in one transaction, and returns how many. Call it until it removes none.
func (s *Service) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	return expire(ctx, s.cfg.DB, before.UnixMilli(), limit)
}

// Wake makes this process look for work.
func (s *Service) Wake() {
	select {
	case s.wake <- struct{}{}:
	default:
	}
}

// CancelHere ends the run of a job that was cancelled, if it runs in this
// process.
func (s *Service) CancelHere(id string) {
	s.mu.Lock()
	run := s.running[id]
	s.mu.Unlock()
	if run != nil {
		run.stop()
	}
}

// announce says here and elsewhere that there may be work.
func (s *Service) announce() {
	s.Wake()
	s.cfg.Publish("")
}

// stopper cancels one run.
type stopper struct{ stop func() }

// track lets CancelHere stop a run until the returned function is called.
func (s *Service) track(id string, stop func()) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	run := &stopper{stop}
	s.running[id] = run
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running[id] == run { // not a later run of the same job
			delete(s.running, id)
		}
	}
}

// pending finds a job that waits or runs.
const pending = `SELECT nid FROM jobs WHERE ws = $1 AND kind = $2 AND due_at IS NOT NULL ORDER BY due_at LIMIT 1`

// Pending reports whether a job of a kind is waiting or running in a workspace.
func (s *Service) Pending(ctx context.Context, ws, kind string) (bool, error) {
	return db.Exists(s.cfg.DB.QueryRow(ctx, pending, ws, kind), "look for a job")
}
