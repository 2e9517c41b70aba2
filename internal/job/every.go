package job

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Every is work done once per interval, whatever the number of instances. The
// intervals are counted from 1970 in UTC. One job makes up for all slots that
// pass while no instance runs, or while the job before is still running.
type Every struct {
	Kind      string
	Interval  time.Duration // at least a second
	Payload   any
	Workspace string // that sees the jobs; "" is none
}

// enqueuePeriodic enqueues what has come due and returns the time to the next
// slot.
func (r *Runner) enqueuePeriodic(ctx context.Context) time.Duration {
	wait := idleWait
	for _, e := range r.cfg.Every {
		now := r.s.cfg.Now()
		next, err := r.enqueueSlot(ctx, e, now)
		if err != nil {
			wait = min(wait, r.trouble(ctx, fmt.Errorf("enqueue periodic %s: %w", e.Kind, err)))
			continue
		}
		wait = min(wait, next.Sub(now))
	}
	return wait
}

// enqueueSlot makes the job of the present slot, unless it was made. It returns
// when to look again.
func (r *Runner) enqueueSlot(ctx context.Context, e Every, now time.Time) (time.Time, error) {
	interval := e.Interval.Milliseconds()
	slot := now.UnixMilli() / interval
	next := time.UnixMilli((slot + 1) * interval)
	last, err := lastSlot(ctx, r.s.cfg.DB, e.Kind)
	if err != nil || last >= slot {
		return next, err
	}
	// Nobody asks for it.
	ctx = web.WithCaller(ctx, web.Caller{Workspace: e.Workspace})
	err = r.s.cfg.DB.InTx(ctx, func(tx *db.Tx) error {
		mine, err := takeSlot(ctx, tx, e.Kind, slot)
		if err != nil || !mine {
			return err
		}
		if busy, err := unfinished(ctx, tx, e); err != nil {
			return err
		} else if busy {
			return errBusy // and leave the slot for later
		}
		_, err = r.s.Enqueue(ctx, tx, Draft{Kind: e.Kind, Payload: e.Payload})
		return err
	})
	if errors.Is(err, errBusy) {
		return next, nil // the end of a run wakes the loop
	}
	return next, err
}

var errBusy = errors.New("the periodic job before has not ended")

func lastSlot(ctx context.Context, q db.Querier, kind string) (int64, error) {
	var slot int64
	err := q.QueryRow(ctx, `SELECT slot FROM job_slots WHERE kind = $1`, kind).Scan(&slot)
	if errors.Is(err, sql.ErrNoRows) {
		return -1, nil
	} else if err != nil {
		return 0, fmt.Errorf("find slot: %w", err)
	}
	return slot, nil
}

// takeSlot returns true to the one caller that moves a kind on to slot.
func takeSlot(ctx context.Context, tx *db.Tx, kind string, slot int64) (bool, error) {
	n, err := tx.Exec(ctx, `INSERT INTO job_slots(kind, slot) VALUES ($1, $2)
		ON CONFLICT (kind) DO UPDATE SET slot = excluded.slot WHERE job_slots.slot < excluded.slot`, kind, slot)
	return n > 0, db.Wrap("take slot", err)
}

// unfinished reports whether the newest periodic job of a kind is still to do.
func unfinished(ctx context.Context, q db.Querier, e Every) (bool, error) {
	var due *int64
	err := q.QueryRow(ctx, `SELECT due_at FROM jobs WHERE ws = $1 AND kind = $2 ORDER BY nid DESC LIMIT 1`, e.Workspace, e.Kind).Scan(&due)
	return db.Found(due != nil, err, "find periodic job")
}
