package db

import (
	"errors"
	"sync"
	"time"
)

// purse is how long a request may still wait for the store in all: each of its
// statements has a limit, and many that come close to theirs would add up to minutes.
// What it waits is taken out, unless that is so short that the store counts as
// answering; time in which it does something else is put back, so that a stream or a
// download that moves on is never ended for what it waited long ago. Statements at the same time are
// one wait. A nil purse never ends.
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

// open begins a wait and gives how long it may be: most, or what is left. Whoever opens
// it closes it.
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
