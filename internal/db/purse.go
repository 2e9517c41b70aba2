package db

import (
	"errors"
	"sync"
	"time"
)

// purse is how long a request may still wait for the store in total: each of its
// statements has a limit, and many that come close to theirs would add up to minutes.
// Waits are subtracted, unless they are so short that the store counts as responsive.
// Time in which the request does something else is added back, so that a stream or a
// download that progresses is never ended because of an old wait. Concurrent statements
// are one wait. A nil purse never runs out.
type purse struct {
	mu    sync.Mutex
	size  time.Duration
	left  time.Duration
	waits int       // that are under way
	since time.Time // when the first of them began; without one, when the last has ended
}

// noWait is how long a wait may be that costs nothing.
const noWait = 250 * time.Millisecond

func newPurse(size time.Duration) *purse {
	if size == 0 {
		return nil
	}
	return &purse{size: size, left: size, since: time.Now()}
}

// open begins a wait and returns how long it may take: most, or what is left. Its
// caller must close it.
func (p *purse) open(most time.Duration) time.Duration {
	if p == nil {
		return most
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	past := now.Sub(p.since)
	p.waits++
	if p.waits > 1 {
		return min(most, p.left-past)
	}
	p.left, p.since = min(p.size, p.left+past), now
	return min(most, p.left)
}

func (p *purse) close() {
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.waits--; p.waits > 0 {
		return
	}
	now := time.Now()
	if past := now.Sub(p.since); past > noWait {
		p.left -= past
	}
	p.since = now
}

// errSpent is why a request that has waited too long in all asks nothing more.
var errSpent = errors.New("the request has waited for the store too long in all")
