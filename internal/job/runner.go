package job

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// RunnerConfig configures a Runner. Handlers is needed.
type RunnerConfig struct {
	Handlers map[string]Handler // by kind; others' jobs are left alone
	Every    []Every            // enqueued by time
	Workers  int                // jobs run at once here; one more than processors by default, at least 3; a workspace has all but one at most
	Lease    time.Duration      // how long a silent run keeps its job; 25 s by default
	Grace    time.Duration      // how long runs may continue when the server stops; 8 s by default
	Beat     time.Duration      // how often a run renews its lease; a third of it by default
	Backoff  func(attempt int) time.Duration
	// Alone means that no other process runs jobs of this store: a job that is
	// running when Run begins was left by one that died, and resumes at once.
	Alone bool
}

// The waits of the loop. The idle one is for wake-ups that got lost.
const (
	idleWait  = 30 * time.Second
	storeWait = 2 * time.Second        // after trouble with the store
	raceWait  = 100 * time.Millisecond // after another instance was faster
)

// Runner claims jobs and runs them. Instances on one store share the work;
// their clocks must agree to within a fraction of the lease.
type Runner struct {
	s    *Service
	cfg  RunnerConfig
	id   string
	turn turns // for the goroutine of Run only, as is claims

	claims int
	ended  chan line // a run of this line has ended
}

// NewRunner makes the Runner of the service's jobs. There must be one per
// service: a wake-up reaches only one.
func (s *Service) NewRunner(cfg RunnerConfig) (*Runner, error) {
	if cfg.Workers <= 0 {
		cfg.Workers = max(3, runtime.GOMAXPROCS(0)+1)
	}
	if cfg.Lease <= 0 {
		cfg.Lease = 25 * time.Second
	}
	if cfg.Grace <= 0 {
		cfg.Grace = 8 * time.Second
	}
	if cfg.Beat <= 0 {
		cfg.Beat = cfg.Lease / 3
	}
	if cfg.Backoff == nil {
		cfg.Backoff = backoff
	}
	var bad []error
	for kind, h := range cfg.Handlers {
		if !kindForm.MatchString(kind) || h == nil {
			bad = append(bad, fmt.Errorf("handler %q: want lower-case words joined by dots or dashes, and a function", kind))
		}
	}
	for _, e := range cfg.Every {
		if cfg.Handlers[e.Kind] == nil || e.Interval < time.Second {
			bad = append(bad, fmt.Errorf("every %s of %s: want a handler and at least a second", e.Kind, e.Interval))
		}
	}
	if err := errors.Join(bad...); err != nil {
		return nil, err
	}
	return &Runner{s: s, cfg: cfg, id: db.NewID(), turn: newTurns(cfg), ended: make(chan line, cfg.Workers)}, nil
}

// Run works until ctx ends. Then it claims nothing more, lets runs continue for
// the grace period, ends their contexts, and puts back what has not finished:
// queued, with the attempt not counted. It returns when all runs have; one that
// ignores its context is left behind, and its job is taken over after the
// lease. Call it once.
func (r *Runner) Run(ctx context.Context) {
	if r.cfg.Alone {
		for kind := range r.cfg.Handlers {
			if err := releaseAll(ctx, r.s.cfg.DB, kind, r.s.cfg.Now().UnixMilli()); err != nil {
				r.s.cfg.Log.WarnContext(ctx, "jobs wait for their leases", "err", err.Error())
			}
		}
	}
	timer := time.NewTimer(0)
	defer timer.Stop()
	for ctx.Err() == nil {
		timer.Reset(r.pass(ctx))
		select {
		case <-ctx.Done():
		case <-timer.C:
		case <-r.s.wake:
		case l := <-r.ended:
			r.turn.end(l)
		}
	}
	for r.turn.busy > 0 {
		r.turn.end(<-r.ended)
	}
}

// pass starts all it can and returns how long to wait for more.
func (r *Runner) pass(ctx context.Context) time.Duration {
	wait := min(idleWait, r.enqueuePeriodic(ctx))
	clear(r.turn.held)
	for r.turn.busy < r.cfg.Workers && ctx.Err() == nil {
		now := r.s.cfg.Now()
		next, err := r.turn.choose(ctx, r.s.cfg.DB, now.UnixMilli())
		if err != nil {
			return min(wait, r.trouble(ctx, err))
		}
		switch {
		case !next.any:
			return wait
		case next.at > now.UnixMilli():
			return min(wait, time.UnixMilli(next.at).Sub(now))
		}
		j, l, err := r.claim(ctx, now)
		if err != nil {
			return min(wait, r.trouble(ctx, err))
		}
		if j == nil {
			r.turn.held[l], wait = struct{}{}, min(wait, raceWait)
			continue
		}
		r.turn.begin(l)
		go func() {
			defer func() { r.ended <- l }()
			r.attempt(ctx, *j)
		}()
	}
	return wait // until a run ends
}

// trouble logs an error of the store and says how long to leave it alone.
func (r *Runner) trouble(ctx context.Context, err error) time.Duration {
	if ctx.Err() == nil {
		r.s.cfg.Log.WarnContext(ctx, "jobs wait for the store", "err", err.Error())
	}
	return storeWait
}

// claimed is a job in our hands.
type claimed struct {
	*row
	held held
}

// claim takes a job of the line that is next, or returns nil when other
// instances are claiming those of the line. Instances claim one after the
// other, and each checks again whose turn it is, because what was read before
// may have changed.
func (r *Runner) claim(ctx context.Context, now time.Time) (*claimed, line, error) {
	r.claims++
	c := claim{owner: r.id + "/" + strconv.Itoa(r.claims), now: now.UnixMilli(), until: now.Add(r.cfg.Lease).UnixMilli()}
	var out *claimed
	err := r.s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		out = nil
		if err := takeTurn(ctx, tx, r.s.cfg.DB.Dialect()); err != nil {
			return err
		}
		next, err := r.turn.choose(ctx, tx, c.now)
		if c.line = next.line; err != nil || !next.any || next.at > c.now {
			return err
		}
		row, err := claimDue(ctx, tx, r.s.cfg.DB.Dialect(), c)
		if row != nil {
			out = &claimed{row: row, held: held{nid: row.nid, owner: c.owner}}
		}
		return err
	})
	if err != nil {
		return nil, line{}, err
	}
	return out, c.line, nil
}
