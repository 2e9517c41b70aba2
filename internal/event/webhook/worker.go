package webhook

import (
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	stepSize   = 100 // deliveries queued in one transaction
	lazyMove   = 500 // events without a match before the position is stored
	leaseSpare = 30 * time.Second
	afterError = 5 * time.Second
	settleTime = 5 * time.Second // to store an outcome while the process stops
)

// worker serves one webhook. Only its own goroutine touches it, except wake.
type worker struct {
	ref
	wake chan struct{}
	pos  int64 // looked at, perhaps further than is stored
	busy int   // attempts under way
	told int64 // revision whose filter was found unusable
	done chan struct{}
}

// work serves a webhook until it is switched off, another process follows for it, or ctx ends.
func (d *dispatcher) work(ctx context.Context, w *worker) {
	w.done = make(chan struct{}, d.cfg.PerHook)
	defer func() {
		for ; w.busy > 0; w.busy-- {
			<-w.done
		}
	}()
	for ctx.Err() == nil {
		h, err := find(ctx, d.db, w.ws, w.id)
		if fault.KindOf(err) == fault.NotFound || err == nil && !h.Active || !d.cfg.Follows(w.id) {
			if d.crew.retire(w) {
				return
			}
			<-w.wake
			continue
		}
		var at time.Time
		if err == nil {
			at, err = d.turn(ctx, w, h)
		}
		if err != nil {
			d.try(ctx, "serve webhook", err)
			at = d.cfg.Now().Add(afterError)
		}
		w.wait(ctx, at, d.cfg.Now())
	}
}

// wait sleeps until there may be something to do; at is zero for no hurry.
func (w *worker) wait(ctx context.Context, at, now time.Time) {
	var due <-chan time.Time
	if !at.IsZero() {
		t := time.NewTimer(at.Sub(now))
		defer t.Stop()
		due = t.C
	}
	select {
	case <-ctx.Done():
	case <-w.wake:
	case <-due:
	case <-w.done:
		w.busy--
	}
}

// turn starts due deliveries and queues new ones, as far as there is room. It
// returns when to look again if nothing else happens.
func (d *dispatcher) turn(ctx context.Context, w *worker, h *hook) (time.Time, error) {
	for w.busy < d.cfg.PerHook {
		at, some, err := nextDue(ctx, d.db, h.ID)
		if err != nil {
			return at, err
		}
		if some && !at.After(d.cfg.Now()) {
			n := 0
			if h, n, err = d.room(ctx, w, h); err != nil || n == 0 {
				return d.cfg.Now(), err
			}
			// Another process may be first; then the next look says later.
			if err := d.start(ctx, w, h, n); err != nil {
				return at, err
			}
			continue
		}
		if moved, err := d.follow(ctx, w, h); err != nil || !moved {
			return at, err
		}
		if h, err = find(ctx, d.db, w.ws, w.id); err != nil || !h.Active {
			return d.cfg.Now(), nil // switched off meanwhile; work looks again
		}
	}
	return time.Time{}, nil
}

// room takes slots for attempts, and waits when there are none, because a lease
// must not run while its attempt waits. It returns the webhook in its state
// afterwards, and no slots when it was switched off or moved to another host
// meanwhile.
func (d *dispatcher) room(ctx context.Context, w *worker, h *hook) (*hook, int, error) {
	p := seatOf(h)
	n, waited, err := d.slots.take(ctx, p, d.cfg.PerHook-w.busy)
	if err != nil || !waited {
		return h, n, err
	}
	h, err = find(ctx, d.db, w.ws, w.id)
	if err == nil && h.Active && seatOf(h) == p {
		return h, n, nil
	}
	d.slots.give(p, n)
	if fault.KindOf(err) == fault.NotFound {
		err = nil
	}
	return nil, 0, err
}

// start takes due deliveries and begins an attempt for each, in the n slots it
// is given.
func (d *dispatcher) start(ctx context.Context, w *worker, h *hook, n int) error {
	now := d.cfg.Now()
	// The lease runs from when an attempt begins to when it must be over.
	jobs, err := claim(ctx, d.db, lease{
		hook: h.ID, owner: db.NewID(), now: now, until: now.Add(d.cfg.Timeout + leaseSpare), limit: n,
	})
	p := seatOf(h)
	d.slots.give(p, n-len(jobs))
	if err != nil {
		return err
	}
	sortJobs(jobs)
	for _, j := range jobs {
		w.busy++
		go func() {
			defer func() {
				d.slots.give(p, 1)
				w.done <- struct{}{}
			}()
			d.deliver(ctx, h, j)
		}()
	}
	return nil
}

// deliver makes one attempt and stores the result. If storing fails, the lease
// expires and the attempt is repeated.
func (d *dispatcher) deliver(ctx context.Context, h *hook, j job) {
	a, err := d.attempt(ctx, h, &j)
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), settleTime)
	defer cancel()
	if ctx.Err() != nil && !a.ok() {
		err = release(late, d.db, j, d.cfg.Now())
	} else if err == nil {
		err = d.settle(late, h, j, a)
	}
	if err != nil {
		d.cfg.Log.ErrorContext(ctx, "deliver webhook", "webhook", h.ID, "seq", j.seq, "err", err.Error())
	}
}

// attempt reads the event and sends it.
func (d *dispatcher) attempt(ctx context.Context, h *hook, j *job) (attempt, error) {
	it, err := d.eventOf(ctx, h.ws, j.seq)
	if err != nil {
		return attempt{}, err
	} else if it == nil {
		return attempt{err: expired, at: d.cfg.Now()}, nil
	}
	j.ws, j.blank = h.ws, it.Data.IsZero() && ofNobody(it.Type)
	m, err := messageOf(d.cfg.Source, h.ws, *it)
	if err != nil {
		return attempt{}, err
	}
	return d.send(ctx, h, m), nil
}

// eventOf finds an event as a webhook, which has no scopes, sees it; nil when
// it is no longer kept.
func (d *dispatcher) eventOf(ctx context.Context, ws string, seq int64) (*event.Item, error) {
	b, err := d.events.Read(ctx, event.Query{Workspace: ws, After: seq - 1, Limit: 1})
	if misplaced(err) || err == nil && (len(b.Items) == 0 || b.Items[0].Seq != seq) {
		return nil, nil //nolint:nilnil // an event that has expired is no error
	} else if err != nil {
		return nil, err
	}
	return &b.Items[0], nil
}

// expired is the error of a delivery whose event is no longer kept.
const expired = "the event is no longer kept"

// settle stores the outcome: delivered, dead, or a later attempt.
func (d *dispatcher) settle(ctx context.Context, h *hook, j job, a attempt) error {
	if a.status == 410 {
		return d.disable(ctx, h, j, a)
	}
	at, again := next(j, a.at, d.cfg.MaxAttempts, a.wait, d.cfg.Chance())
	again = again && a.err != expired
	if !a.ok() && !again {
		d.cfg.Log.WarnContext(ctx, "webhook delivery is dead", "webhook", h.ID, "seq", j.seq, "attempts", j.attempts, "err", a.why())
	}
	return d.db.InTx(ctx, func(tx *db.Tx) error {
		switch {
		case a.ok():
			return setDelivered(ctx, tx, j, a)
		case again:
			return setRetry(ctx, tx, j, a, at)
		default:
			return setDead(ctx, tx, j, a)
		}
	})
}

// disable switches a webhook off whose receiver says it is gone for good.
func (d *dispatcher) disable(ctx context.Context, h *hook, j job, a attempt) error {
	return d.db.InTx(ctx, func(tx *db.Tx) error {
		if err := setDead(ctx, tx, j, a); err != nil {
			return err
		}
		now, err := find(ctx, tx, h.ws, h.ID)
		if fault.KindOf(err) == fault.NotFound || err == nil && (!now.Active || now.URL != h.URL) {
			return nil // deleted, off, or moved meanwhile
		} else if err != nil {
			return err
		}
		now.Active, now.DisabledReason, now.UpdatedAt = false, "The receiver answered 410 Gone.", d.cfg.moment()
		if err := update(ctx, tx, now, false); err != nil {
			return err
		}
		return announce(ctx, tx, d.events, now, "webhook.disabled")
	})
}
