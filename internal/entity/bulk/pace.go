package bulk

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
)

// On SQLite one transaction has the store to itself, so these bound what others
// wait for. A disk that takes long to sync makes everybody wait anyway, and
// then larger transactions are the better ones.
const (
	turn     = 3 * time.Millisecond   // of the store for one transaction while others write
	alone    = 10 * time.Millisecond  // while nobody writes
	perSync  = 2                      // or so many times what a commit takes
	maxTime  = 100 * time.Millisecond // the most, and the bound on PostgreSQL
	workTime = 200 * time.Microsecond // of work between two rests
	maxRest  = 20 * time.Millisecond
)

// pace keeps long work from taking the store and the processors from others:
// while they write, a transaction is short and a rest follows. Two goroutines
// of one work may share it: one that prepares and one that stores.
type pace struct {
	db      *db.DB
	lite    bool
	mine    atomic.Int64 // transactions of this work
	crowded atomic.Bool  // others have written lately

	mu      sync.Mutex
	each    time.Duration // what a step takes in a transaction; 0 until one is known
	limit   time.Duration // of a transaction
	callers int64         // of the store, at the last look
	begun   time.Time     // of the work since the last rest of Rest
}

// newPace makes the pace of some work on a store.
func newPace(d *db.DB) *pace {
	p := &pace{db: d, lite: d.Dialect() == db.SQLite, limit: maxTime}
	p.look()
	return p
}

// look finds out whether others write, and how long a transaction may take.
func (p *pace) look() {
	if !p.lite {
		return
	}
	s := p.db.Stats()
	p.mu.Lock()
	defer p.mu.Unlock()
	crowded := s.Queued > 0 || s.Callers-p.callers > p.mine.Swap(0)
	p.crowded.Store(crowded)
	p.callers = s.Callers
	p.limit = turn
	if !crowded {
		p.limit = alone
	}
	p.limit = min(max(p.limit, perSync*s.CommitTime/time.Duration(max(s.Commits, 1))), maxTime)
}

// bounds are how many of the next steps may be stored in one statement, and how
// long a transaction may take.
func (p *pace) bounds(left int) (steps int, limit time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.each == 0 {
		return min(left, firstSteps), p.limit
	}
	n := max(int(p.limit/p.each), 1)
	if n > firstSteps {
		n -= n % firstSteps // statements have as many rows
	}
	return min(left, n), p.limit
}

// firstSteps is how many steps are stored before it is known what they take.
const firstSteps = 10

// note records how long steps took in a transaction.
func (p *pace) note(steps int, took time.Duration) {
	p.mine.Add(1)
	if steps == 0 {
		return
	}
	each := took / time.Duration(steps)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.each > 0 { // some are larger than others
		each = (3*p.each + each) / 4
	}
	p.each = max(each, 1)
}

// give rests after a transaction, half as long as it took, when others write:
// they have had their turns while it waited for its own and for the disk.
func (p *pace) give(ctx context.Context, took time.Duration) {
	p.look()
	if p.crowded.Load() {
		rest(ctx, took/2)
	}
}

// Rest is for work outside of transactions. Call it often: while others write
// it leaves them the processor for half of the time.
func (p *pace) Rest(ctx context.Context) {
	p.mu.Lock()
	worked := time.Since(p.begun)
	p.mu.Unlock()
	if worked < workTime {
		return
	}
	if p.crowded.Load() {
		rest(ctx, min(worked, 2*workTime))
	}
	p.mu.Lock()
	p.begun = time.Now()
	p.mu.Unlock()
}

// rest waits. A goroutine that only let others run would be run again before
// the network is looked at.
func rest(ctx context.Context, d time.Duration) {
	t := time.NewTimer(min(d, maxRest))
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}
