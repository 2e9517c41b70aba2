package webhook

import (
	"context"
	"net/url"
	"slices"
	"strings"
	"sync"
)

// seat is what an attempt takes a slot for: a workspace, and the host that is
// called.
type seat struct{ ws, host string }

// seatOf is the seat of a webhook. Ports and spellings of a host are one.
func seatOf(h *hook) seat {
	u, err := url.Parse(h.URL)
	if err != nil { // stored by another version: it has a seat of its own
		return seat{h.ws, h.URL}
	}
	return seat{h.ws, strings.ToLower(strings.TrimSuffix(u.Hostname(), "."))}
}

// limits are how many attempts may be under way at once.
type limits struct {
	all      int
	perSpace int
	perHost  int // more than perSpace: no workspace has all of a host
}

// slots limits concurrent attempts: in all, by workspace and by host. Waiting
// ones are served by workspace: the one with the fewest in progress comes
// first, so that silent receivers of one workspace do not delay others, at the
// same host or elsewhere.
type slots struct {
	mu     sync.Mutex
	limits limits
	used   int
	spaces map[string]int
	hosts  map[string]int
	line   []*waiter // the longest first
}

// waiter is one that waits for a slot.
type waiter struct {
	seat
	mine chan struct{} // closed when a slot is its own
}

func newSlots(l limits) *slots {
	return &slots{limits: l, spaces: map[string]int{}, hosts: map[string]int{}}
}

// take gives up to want slots, as many as are free; when none is it waits for
// one. Give them back with give.
func (s *slots) take(ctx context.Context, p seat, want int) (n int, waited bool, err error) {
	if err := ctx.Err(); err != nil {
		return 0, false, err
	}
	s.mu.Lock()
	// While a waiter could use a slot there is none free.
	if n := min(s.room(p), want); n > 0 {
		s.add(p, n)
		s.mu.Unlock()
		return n, false, nil
	}
	w := &waiter{p, make(chan struct{})}
	s.line = append(s.line, w)
	s.mu.Unlock()
	select {
	case <-w.mine:
		return 1, true, nil
	case <-ctx.Done():
		s.leave(w)
		return 0, true, ctx.Err()
	}
}

// room is how many slots a seat may still have.
func (s *slots) room(p seat) int {
	return min(s.limits.all-s.used, s.limits.perSpace-s.spaces[p.ws], s.limits.perHost-s.hosts[p.host])
}

// add counts n more slots of a seat, or fewer when n is negative.
func (s *slots) add(p seat, n int) {
	s.used += n
	tally(s.spaces, p.ws, n)
	tally(s.hosts, p.host, n)
}

// tally adds to a number and keeps none that is 0.
func tally(m map[string]int, k string, n int) {
	if m[k] += n; m[k] == 0 {
		delete(m, k)
	}
}

// leave removes a waiter from the line, or returns what it just got.
func (s *slots) leave(w *waiter) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := slices.Index(s.line, w); i >= 0 {
		s.line = slices.Delete(s.line, i, i+1)
		return
	}
	s.free(w.seat, 1)
}

// give takes n slots of a seat back.
func (s *slots) give(p seat, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.free(p, n)
}

func (s *slots) free(p seat, n int) {
	s.add(p, -n)
	for i := s.next(); i >= 0; i = s.next() {
		w := s.line[i]
		s.line = slices.Delete(s.line, i, i+1)
		s.add(w.seat, 1)
		close(w.mine)
	}
}

// next is the place in line of the next waiter, -1 when there is no slot for
// any.
func (s *slots) next() int {
	best := -1
	for i, w := range s.line {
		if s.room(w.seat) > 0 && (best < 0 || s.spaces[w.ws] < s.spaces[s.line[best].ws]) {
			best = i
		}
	}
	return best
}
