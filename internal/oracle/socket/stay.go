package socket

import (
	"cmp"
	"container/heap"
	"context"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	// DefaultRecheck is how often a Guest is checked whose keys can change.
	DefaultRecheck = time.Second
	// recheckers is how many guests are checked at once.
	recheckers = 8
	// longestWait is how long the timer of the hub sleeps at most. Timers do not
	// see that the machine slept or that somebody has set its clock.
	longestWait = time.Minute
)

// Guest is who sent a handshake, and how long they may stay.
type Guest struct {
	User  string    // DID
	Until time.Time // the end of their tokens; zero is no end
	// Check reports whether they may still stay: not after a fault of kind
	// Unauthenticated. Nil: there is nothing to check.
	Check func(ctx context.Context) error
}

// Why sockets are disconnected whose tokens were good once.
var (
	errExpired = fault.New(fault.Unauthenticated, "UCAN_EXPIRED", "The token has expired: connect again with a fresh one")
	errRevoked = fault.New(fault.Unauthenticated, "UCAN_INVALID", "The token no longer counts")
)

// visits are the members that may not stay for ever, those to be looked at next
// first: a heap under the hub's mu. One timer serves all of them.
type visits []*member

// Len is how many there are.
func (v visits) Len() int { return len(v) }

// Less tells who is to be looked at first.
func (v visits) Less(i, j int) bool { return v[i].due.Before(v[j].due) }

// Swap swaps two.
func (v visits) Swap(i, j int) {
	v[i], v[j] = v[j], v[i]
	v[i].place, v[j].place = i+1, j+1
}

// Push adds one at the end.
func (v *visits) Push(x any) {
	m := x.(*member)
	*v = append(*v, m)
	m.place = len(*v)
}

// Pop takes the last.
func (v *visits) Pop() any {
	last := len(*v) - 1
	m := (*v)[last]
	(*v)[last], *v = nil, (*v)[:last]
	m.place = 0
	return m
}

// watch has a new member looked at in time. The caller holds mu.
func (h *Hub) watch(m *member) {
	if m.until.IsZero() && m.check == nil {
		return
	}
	m.due = h.nextLook(m)
	heap.Push(&h.visits, m)
	h.wind()
}

// unwatch forgets a member. The caller holds mu.
func (h *Hub) unwatch(m *member) {
	if m.place > 0 {
		heap.Remove(&h.visits, m.place-1)
	}
}

// nextLook is when a member is to be looked at again: at the end of its tokens,
// or earlier if there is something to check.
func (h *Hub) nextLook(m *member) time.Time {
	if m.check == nil {
		return m.until
	}
	next := h.cfg.Now().Add(h.cfg.Recheck)
	if !m.until.IsZero() && m.until.Before(next) {
		return m.until
	}
	return next
}

// wind sets the timer for the next member. The caller holds mu.
func (h *Hub) wind() {
	if len(h.visits) == 0 || h.stopped {
		return
	}
	wait := min(max(h.visits[0].due.Sub(h.cfg.Now()), 0), longestWait)
	if h.clock == nil {
		h.clock = time.AfterFunc(wait, h.wake)
		return
	}
	h.clock.Reset(wait)
}

// stopWatch ends all of it, but not what is being checked.
func (h *Hub) stopWatch() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.stopped = true
	h.unchecked = nil
	if h.clock != nil {
		h.clock.Stop()
	}
}

// wake sends away those whose tokens have ended and has the others checked whose
// time has come.
func (h *Hub) wake() {
	var over []*member
	h.mu.Lock()
	for now := h.cfg.Now(); !h.stopped && len(h.visits) > 0 && !h.visits[0].due.After(now); {
		m := h.visits[0]
		if !m.until.IsZero() && !m.until.After(now) {
			heap.Pop(&h.visits)
			over = append(over, m)
			continue
		}
		// Until the answer is there only the end of its tokens counts.
		m.due = cmp.Or(m.until, now.Add(h.cfg.Recheck))
		heap.Fix(&h.visits, 0)
		if !m.checking {
			m.checking = true
			h.unchecked = append(h.unchecked, m)
		}
	}
	h.wind()
	for !h.stopped && h.checkers < min(len(h.unchecked), recheckers) {
		h.checkers++
		h.checks.Go(h.recheck)
	}
	h.mu.Unlock()
	for _, m := range over {
		h.sendAway(m, errExpired)
	}
}

// recheck checks members until none is left to check.
func (h *Hub) recheck() {
	for {
		m := h.nextUnchecked()
		if m == nil {
			return
		}
		err := h.ask(m)
		if fault.KindOf(err) == fault.Unauthenticated {
			h.sendAway(m, errRevoked.Wrap(err))
			continue
		}
		h.mu.Lock()
		m.checking = false
		if m.place > 0 {
			m.due = h.nextLook(m)
			heap.Fix(&h.visits, m.place-1)
			h.wind()
		}
		h.mu.Unlock()
	}
}

// nextUnchecked takes a member to check; nil ends a checker.
func (h *Hub) nextUnchecked() *member {
	h.mu.Lock()
	defer h.mu.Unlock()
	for len(h.unchecked) > 0 {
		m := h.unchecked[0]
		h.unchecked[0], h.unchecked = nil, h.unchecked[1:]
		if m.place > 0 {
			return m
		}
	}
	h.unchecked = nil
	h.checkers--
	return nil
}

// sendAway disconnects a member whose tokens no longer count. Its client may
// connect again with others.
func (h *Hub) sendAway(m *member, why *fault.Error) {
	h.count.expired.Add(1)
	h.cfg.Log.Debug("socket sent away", "code", why.Code)
	_ = m.socket.Emit(eventException, newException("connection", why.Message)) // it may have left
	m.socket.Close()
}
