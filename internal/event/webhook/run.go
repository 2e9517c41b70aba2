package webhook

import (
	"context"
	"sync"
	"time"
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

// wake has the worker of a webhook look again; run starts one when there is
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

// Run follows the log and delivers until ctx ends, then waits for what is
// under way: attempts are cut short and given back. Several processes may run
// it on one store. It never polls: it sleeps until there is an event, until a
// delivery is due, or until the next sweep, which finds what a lost wake-up
// would have hidden.
func (s *Service) Run(ctx context.Context) error {
	sub := s.events.Subscribe("")
	defer sub.Close()
	defer s.crew.clear()
	var wg sync.WaitGroup
	defer wg.Wait()
	wg.Go(func() { s.clean(ctx) })
	sweep := time.NewTicker(s.cfg.Sweep)
	defer sweep.Stop()
	s.sweep(ctx)
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-sweep.C:
			s.sweep(ctx)
		case <-sub.C:
			list, all := sub.Workspaces()
			if all {
				s.sweep(ctx)
			}
			for _, ws := range list {
				s.try(ctx, "wake webhooks", s.rouse(ctx, ws))
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

// try logs the errors of work nobody waits for.
func (s *Service) try(ctx context.Context, what string, err error) {
	if err != nil && ctx.Err() == nil {
		s.cfg.Log.ErrorContext(ctx, what, "err", err.Error())
	}
}

// sweep wakes every active webhook.
func (s *Service) sweep(ctx context.Context) {
	after := int64(0)
	for {
		refs, last, err := listActive(ctx, s.db, after, sweepPage)
		s.try(ctx, "sweep webhooks", err)
		s.wakeAll(ctx, refs)
		if err != nil || len(refs) < sweepPage {
			break
		}
		after = last
	}
}

// rouse wakes the active webhooks of a workspace.
func (s *Service) rouse(ctx context.Context, ws string) error {
	refs, err := listActiveIn(ctx, s.db, ws)
	s.wakeAll(ctx, refs)
	return err
}

func (s *Service) wakeAll(ctx context.Context, refs []ref) {
	for _, r := range refs {
		s.crew.wake(r, func(w *worker) { s.work(ctx, w) })
	}
}

// purgeChunk is how many rows one transaction removes.
const purgeChunk = 100

// clean clears up after deleted webhooks until ctx ends. It has a goroutine of
// its own: there may be much to remove, and deliveries do not wait for it.
func (s *Service) clean(ctx context.Context) {
	tick := time.NewTicker(s.cfg.Sweep)
	defer tick.Stop()
	for {
		s.try(ctx, "remove deleted webhooks", s.purge(ctx))
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// purge removes the rows of deleted webhooks until there are none, some at a
// time.
func (s *Service) purge(ctx context.Context) error {
	for {
		refs, err := listDeleted(ctx, s.db)
		if err != nil || len(refs) == 0 {
			return err
		}
		for _, r := range refs {
			if err := s.purgeOne(ctx, r); err != nil {
				return err
			}
		}
	}
}

// purgeOne removes a deleted webhook, its deliveries first.
func (s *Service) purgeOne(ctx context.Context, r ref) error {
	for {
		n, err := removeDeliveries(ctx, s.db, r, purgeChunk)
		if err != nil {
			return err
		}
		if n < purgeChunk {
			return remove(ctx, s.db, r)
		}
	}
}

// Expire removes deliveries that ended before a time, delivered or dead, at
// most limit of them in one transaction, and tells how many. Call it until it
// removes none.
func (s *Service) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	return removeExpired(ctx, s.db, before, limit)
}
