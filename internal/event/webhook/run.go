package webhook

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
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
			for _, ws := range sub.Workspaces() {
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

// sweep wakes every active webhook and clears up after deleted ones.
func (s *Service) sweep(ctx context.Context) {
	after := int64(0)
	for {
		refs, last, err := listActive(ctx, s.db, after, sweepPage)
		s.try(ctx, "sweep webhooks", err)
		for _, r := range refs {
			s.crew.wake(r, func(w *worker) { s.work(ctx, w) })
		}
		if err != nil || len(refs) < sweepPage {
			break
		}
		after = last
	}
	s.try(ctx, "remove deleted webhooks", s.purge(ctx))
}

// rouse wakes the active webhooks of a workspace.
func (s *Service) rouse(ctx context.Context, ws string) error {
	rows, err := s.db.Query(ctx, selectActiveIn, ws)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		r := ref{ws: ws}
		if err := rows.Scan(&r.id); err != nil {
			return err
		}
		s.crew.wake(r, func(w *worker) { s.work(ctx, w) })
	}
	return rows.Err()
}

const (
	selectActiveIn = `SELECT id FROM webhooks WHERE ws = $1 AND active AND NOT deleted`
	selectActive   = `SELECT nid, ws, id FROM webhooks WHERE active AND nid > $1 ORDER BY nid LIMIT $2`
	selectDeleted  = `SELECT ws, id FROM webhooks WHERE deleted ORDER BY nid LIMIT 20`
	deleteSome     = `DELETE FROM webhook_deliveries WHERE webhook = $1 AND seq IN (
		SELECT seq FROM webhook_deliveries WHERE webhook = $1 ORDER BY seq LIMIT $2)`
	deleteHook    = `DELETE FROM webhooks WHERE ws = $1 AND id = $2 AND deleted`
	deleteExpired = `DELETE FROM webhook_deliveries WHERE status <> 'pending' AND (webhook, seq) IN (
		SELECT webhook, seq FROM webhook_deliveries WHERE done_at < $1 ORDER BY done_at LIMIT $2)`
)

func listActive(ctx context.Context, q db.Querier, after int64, limit int) ([]ref, int64, error) {
	rows, err := q.Query(ctx, selectActive, after, limit)
	if err != nil {
		return nil, 0, fmt.Errorf("list active webhooks: %w", err)
	}
	defer rows.Close()
	var out []ref
	for rows.Next() {
		var r ref
		if err := rows.Scan(&after, &r.ws, &r.id); err != nil {
			return nil, 0, fmt.Errorf("list active webhooks: %w", err)
		}
		out = append(out, r)
	}
	return out, after, rows.Err()
}

// purgeChunk is how many rows one transaction removes.
const purgeChunk = 100

// purge removes the rows of deleted webhooks, their deliveries first.
func (s *Service) purge(ctx context.Context) error {
	refs, err := listDeleted(ctx, s.db)
	if err != nil {
		return err
	}
	for _, r := range refs {
		for {
			n, err := s.db.Exec(ctx, deleteSome, r.id, purgeChunk)
			if err != nil {
				return fmt.Errorf("remove deliveries: %w", err)
			}
			if n < purgeChunk {
				break
			}
		}
		if _, err := s.db.Exec(ctx, deleteHook, r.ws, r.id); err != nil {
			return fmt.Errorf("remove webhook: %w", err)
		}
	}
	return nil
}

func listDeleted(ctx context.Context, q db.Querier) ([]ref, error) {
	rows, err := q.Query(ctx, selectDeleted)
	if err != nil {
		return nil, fmt.Errorf("list deleted webhooks: %w", err)
	}
	defer rows.Close()
	var out []ref
	for rows.Next() {
		var r ref
		if err := rows.Scan(&r.ws, &r.id); err != nil {
			return nil, fmt.Errorf("list deleted webhooks: %w", err)
		}
		out = append(out, r)
	}
	return out, rows.Err()
}

// Expire removes deliveries that ended before a time, delivered or dead, at
// most limit of them, and tells how many. Call it again while it removes limit.
func (s *Service) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	removed := 0
	for removed < limit {
		chunk := min(purgeChunk, limit-removed)
		n, err := s.db.Exec(ctx, deleteExpired, before.UnixMilli(), chunk)
		if err != nil {
			return removed, fmt.Errorf("expire deliveries: %w", err)
		}
		removed += int(n)
		if n < int64(chunk) {
			break
		}
	}
	return removed, nil
}
