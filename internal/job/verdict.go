package job

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// verdict is what becomes of a job after an attempt.
type verdict struct {
	status Status
	ending ending
	pause  *pause // set when the job is queued again
	lost   bool   // another instance has it now
	failed error  // for the log
	level  slog.Level
}

// verdict judges what a handler returned. cause is why its context ended, nil
// when it did not.
func (r *Runner) verdict(run *Run, j claimed, err, cause error) verdict {
	progress, result := run.outcome()
	now := r.s.cfg.Now()
	v := verdict{ending: ending{progress: progress, now: now.UnixMilli()}}
	if err == nil {
		text, bad := encode("result", result)
		if bad == nil {
			if result != nil {
				v.ending.result = &text
			}
			if v.status = run.ended(); v.status == Failed {
				v.ending.errors = failures(failure(errNothingTaken))
			}
			return v
		}
		err = Permanent(bad)
	}
	switch {
	case errors.Is(cause, errLost) || errors.Is(err, errLost):
		return verdict{status: Running, lost: true}
	case errors.Is(cause, errCancelled):
		v.status = Cancelled
		return v
	case errors.Is(cause, errStopping):
		v.status, v.pause = Queued, &pause{due: now.UnixMilli(), progress: progress, uncount: 1}
		return v
	}
	shown := failure(err)
	v.ending.errors = failures(shown)
	v.failed, v.level = err, slog.LevelWarn
	if shown.Code == codeInternal {
		v.level = slog.LevelError
	}
	if isPermanent(err) || j.attempts >= j.max {
		v.status = Failed
		return v
	}
	wait := r.cfg.Backoff(j.attempts)
	if f := fault.As(err); f != nil {
		wait = max(wait, f.RetryAfter)
	}
	v.status, v.pause = Queued, &pause{due: now.Add(wait).UnixMilli(), errors: v.ending.errors, progress: progress}
	return v
}

// errNothingTaken is why a job failed that did all its work.
var errNothingTaken = fault.New(fault.Invalid, "ALL_ROWS_REFUSED", "Every row was refused, and nothing is stored. The report of the job says why, row by row.")

// failures is the stored form of what readers may know.
func failures(f Failure) *string {
	text, err := json.Marshal([]Failure{f})
	if err != nil { // a message that is not text
		return failures(Failure{Code: codeInternal, Message: "Internal error."})
	}
	s := string(text)
	return &s
}

// conclude stores a verdict. While the store is in trouble it tries again, as
// long as the lease lasts and the server does not stop.
func (r *Runner) conclude(ctx context.Context, stopping <-chan struct{}, j claimed, v verdict) error {
	if v.lost {
		return errLost
	}
	ctx, stop := context.WithTimeout(ctx, r.cfg.Lease)
	defer stop()
	for {
		err := r.s.cfg.DB.InTx(ctx, func(tx *db.Tx) error { return r.store(ctx, tx, j, v) })
		if err == nil && v.pause != nil {
			r.s.announce()
		}
		if err == nil || fault.KindOf(err) != fault.Unavailable || db.OutcomeUnknown(err) {
			return err
		}
		select {
		case <-time.After(min(storeWait, r.cfg.Lease/4)):
		case <-ctx.Done():
			return err
		case <-stopping:
			return err
		}
	}
}

func (r *Runner) store(ctx context.Context, tx *db.Tx, j claimed, v verdict) error {
	e := v.ending
	e.status = v.status
	if v.pause != nil {
		queued, err := release(ctx, tx, j.held, *v.pause)
		if err != nil || queued {
			return err
		}
		e.status, e.errors = Cancelled, nil // cancelling was requested meanwhile
	}
	revision, err := finish(ctx, tx, j.held, e)
	if err != nil {
		return err
	}
	return r.s.record(ctx, tx, j.row, e.status, revision)
}
