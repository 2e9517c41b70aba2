package webhook

import (
	"context"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/event"
)

const (
	sweepPage = 500
	// calm is the least time between two looks at who has new events: a busy
	// workspace costs fifty looks a second, not one for each write.
	calm = 20 * time.Millisecond
)

// ref names a webhook.
type ref struct{ ws, id string }

// crew is the workers of this process, one for each active webhook.
type crew struct {
	mu      sync.Mutex
	workers map[ref]*worker
	wg      sync.WaitGroup
}

func newCrew() *crew { return &crew{workers: map[ref]*worker{}} }

// wake makes the worker of a webhook look again; run starts one when there is
// none.
func (c *crew) wake(r ref, run func(*worker)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w := c.workers[r]
	if w == nil {
		w = &worker{ref: r, wake: make(chan struct{}, 1)}
		c.workers[r] = w
		c.wg.Go(func() { run(w) })
	}
	select {
	case w.wake <- struct{}{}:
	default: // it has not looked yet since the last one
	}
}

// retire takes a worker off the crew, unless it was woken meanwhile.
func (c *crew) retire(w *worker) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(w.wake) > 0 {
		return false
	}
	delete(c.workers, w.ref)
	return true
}

// clear forgets all workers, once they have ended.
func (c *crew) clear() {
	c.wg.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	clear(c.workers)
}

// dispatcher delivers events: with Run each active webhook has a worker that
// follows the log and makes the attempts.
type dispatcher struct {
	*sender
	cfg    Config
	db     *db.DB
	events *event.Log
	crew   *crew
	slots  *slots // for attempts
}

// turnsEvery is how often one of several processes looks whether there are others now.
const turnsEvery = time.Second

// Run follows the log and delivers until ctx ends, then waits for what is in progress:
// attempts are cut short and put back. Several processes may run it on one store: one of
// them follows for each webhook, and when that one has gone another takes over. The
// position of a webhook and the owner of an attempt are in the store, so two processes
// that follow at once do no harm. It never polls: it sleeps until there is an event,
// until a delivery is due, or until the next sweep, which finds what a lost wake-up would
// have hidden.
func (d *dispatcher) Run(ctx context.Context) error {
	sub := d.events.Subscribe("")
	defer sub.Close()
	defer d.crew.clear()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { d.clean(ctx) })
	sweep := time.NewTicker(d.cfg.Sweep)
	defer sweep.Stop()
	var turns <-chan time.Time // never, for the only process there is
	var turn int64
	if d.cfg.Turns != nil {
		tick := time.NewTicker(turnsEvery)
		defer tick.Stop()
		turns, turn = tick.C, d.cfg.Turns()
	}
	d.sweep(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-turns:
			if now := d.cfg.Turns(); now != turn {
				turn = now
				d.sweep(ctx)
			}
		case <-sweep.C:
			d.sweep(ctx)
		case <-sub.C:
			list, all := sub.Workspaces()
			if all {
				d.sweep(ctx)
			}
			for _, ws := range list {
				d.try(ctx, "wake webhooks", d.rouse(ctx, ws))
			}
			pause(ctx, calm)
		}
	}
}

func pause(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

// try logs the errors of background work.
func (d *dispatcher) try(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		d.cfg.Log.ErrorContext(ctx, what, "err", err.Error())
	}
}

// sweep wakes every active webhook.
func (d *dispatcher) sweep(ctx context.Context) {
	after := int64(0)
	for {
		refs, last, err := listActive(ctx, d.db, after, sweepPage)
		d.try(ctx, "sweep webhooks", err)
		d.wakeAll(ctx, refs)
		if err != nil || len(refs) < sweepPage {
			break
		}
		after = last
	}
}

// rouse wakes the active webhooks of a workspace.
func (d *dispatcher) rouse(ctx context.Context, ws string) error {
	refs, err := listActiveIn(ctx, d.db, ws)
	d.wakeAll(ctx, refs)
	return err
}

// wakeAll wakes the webhooks that this process follows for.
func (d *dispatcher) wakeAll(ctx context.Context, refs []ref) {
	for _, r := range refs {
		if !d.cfg.Follows(r.id) {
			continue
		}
		d.crew.wake(r, func(w *worker) { d.work(ctx, w) })
	}
}

// purgeChunk is how many rows one transaction removes.
const purgeChunk = 100

// clean clears up after deleted webhooks until ctx ends. It has a goroutine of
// its own: there may be much to remove, and deliveries do not wait for it.
func (d *dispatcher) clean(ctx context.Context) {
	tick := time.NewTicker(d.cfg.Sweep)
	defer tick.Stop()
	for {
		d.try(ctx, "remove deleted webhooks", d.purge(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// purge removes the rows of deleted webhooks until there are none, some at a
// time.
func (d *dispatcher) purge(ctx context.Context) error {
	for {
		refs, err := listDeleted(ctx, d.db)
		if err != nil || len(refs) == 0 {
			return err
		}
		for _, r := range refs {
			if err := d.purgeOne(ctx, r); err != nil {
				return err
			}
		}
	}
}

// purgeOne removes a deleted webhook, its deliveries first.
func (d *dispatcher) purgeOne(ctx context.Context, r ref) error {
	for {
		n, err := removeDeliveries(ctx, d.db, r, purgeChunk)
		if err != nil {
			return err
		}
		if n < purgeChunk {
			return remove(ctx, d.db, r)
		}
	}
}

// Expire removes deliveries that ended before a time, delivered or dead, at
// most limit of them in one transaction, and returns how many. Call it until it
// removes none.
func (s *Service) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	return removeExpired(ctx, s.db, before, limit)
}
