package job

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

const (
	progressPause = 500 * time.Millisecond // between two stored progresses
	lastMoment    = 2 * time.Second        // for handlers to return when the grace is over
)

// Why a run's context ended.
var (
	errCancelled = errors.New("the job was cancelled")
	errStopping  = errors.New("the server stops")
	errStuck     = errors.New("the handler did not return")
)

// attempt runs one claimed job and stores how it ended. stop ends when the
// server stops.
func (r *Runner) attempt(stop context.Context, j claimed) {
	log := r.s.cfg.Log.With("job", j.id, "kind", j.kind, "attempt", j.attempts)
	caller, err := j.asCaller()
	base := web.WithRequestID(web.WithCaller(context.WithoutCancel(stop), caller), j.requestID)
	ctx, cancel := context.WithCancelCause(base)
	defer cancel(nil)
	defer r.s.track(j.id, func() { cancel(errCancelled) })()
	run := &Run{
		ID: j.id, Kind: j.kind, Attempt: j.attempts, held: j.held, payload: j.payload, state: j.state, progress: j.progress,
		now: r.s.cfg.Now, lease: r.cfg.Lease, changed: make(chan struct{}, 1),
	}
	switch {
	case err != nil:
		err = Permanent(err)
	case j.cancel:
		cancel(errCancelled)
		err = errCancelled
	case j.attempts > j.max: // earlier ones died without a word
		err = Permanent(fault.New(fault.Unavailable, "JOB_ABANDONED", "Every attempt at this job ended without a result. Start it again, or ask the operator for the log of its id."))
	default:
		err = r.watch(stop, ctx, cancel, run)
	}
	if errors.Is(err, errStuck) {
		log.ErrorContext(base, "job left behind", "err", err.Error())
		return
	}
	v := r.verdict(run, j, err, context.Cause(ctx))
	if v.failed != nil {
		log.Log(base, v.level, "job attempt failed", "err", v.failed.Error(), "again", v.pause != nil)
	}
	if err := r.conclude(base, stop.Done(), j, v); err != nil {
		log.WarnContext(base, "job not concluded", "err", err.Error())
		return
	}
	// What failed has its line above; that the rest went well is in the job itself.
	log.DebugContext(base, "job attempt ended", "status", string(v.status))
}

// watch calls the handler and keeps the lease until it returns.
func (r *Runner) watch(stop, ctx context.Context, cancel context.CancelCauseFunc, run *Run) error {
	done := make(chan error, 1)
	go func() {
		err := errors.New("the handler ended its goroutine")
		defer func() { done <- err }()
		err = r.call(ctx, run)
	}()
	beat := time.NewTicker(r.cfg.Beat)
	defer beat.Stop()
	stopping := stop.Done()
	var grace, end, flush <-chan time.Time
	w := &watcher{r: r, run: run, cancel: cancel, until: r.s.cfg.Now().Add(r.cfg.Lease), wrote: time.Now()}
	for {
		select {
		case err := <-done:
			return err
		case <-beat.C:
			w.beat(ctx)
		case <-run.changed:
			if flush == nil {
				flush = time.After(progressPause - min(progressPause, time.Since(w.wrote)))
			}
		case <-flush:
			flush = nil
			if len(done) == 0 { // else the end stores it
				w.beat(ctx)
			}
		case <-stopping:
			stopping, grace = nil, time.After(r.cfg.Grace)
		case <-grace:
			cancel(errStopping)
			end = time.After(lastMoment)
		case <-end:
			return errStuck
		}
	}
}

// watcher keeps the lease of one run.
type watcher struct {
	r      *Runner
	run    *Run
	cancel context.CancelCauseFunc
	until  time.Time // the lease, as far as we know
	wrote  time.Time // when it was last stored, or the run began
	lost   bool
}

// beat renews the lease, stores progress, and looks for a wish to cancel. When
// the store does not answer until the lease is over, the lease is lost.
func (w *watcher) beat(ctx context.Context) {
	if w.lost {
		return
	}
	until := w.r.s.cfg.Now().Add(w.r.cfg.Lease)
	n := renewal{until: until.UnixMilli()}
	dirty := false
	if n.progress, dirty = w.run.take(); dirty {
		n.changed = 1
	}
	short, stop := context.WithTimeout(context.WithoutCancel(w.r.s.cfg.DB.Lane(ctx, db.Control)), max(w.r.cfg.Beat, time.Second))
	defer stop()
	wanted := false
	err := w.r.s.cfg.DB.InTx(short, func(tx *db.Tx) (err error) {
		wanted, err = extend(short, tx, w.run.held, n)
		return err
	})
	w.wrote = time.Now()
	switch {
	case err == nil:
		w.until = until
		if wanted {
			w.cancel(errCancelled)
		}
	case errors.Is(err, errLost) || w.r.s.cfg.Now().After(w.until):
		w.lost = true
		w.cancel(errLost)
	default:
		if dirty {
			w.run.untake()
		}
		w.r.trouble(ctx, err)
	}
}

// call runs the handler and turns a panic into an error.
func (r *Runner) call(ctx context.Context, run *Run) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in handler: %v\n%s", v, debug.Stack())
		}
	}()
	return r.cfg.Handlers[run.Kind](ctx, run)
}
