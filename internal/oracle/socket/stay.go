package socket

import (
	"cmp"
	"container/heap"
	"context"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

const (
	// DefaultRecheck is how often a Guest whose keys can change is checked.
	DefaultRecheck = time.Second
	// recheckers is how many guests are checked at once.
	recheckers = 8
	// longestWait limits how long the timer sleeps, because timers do not
	// notice that the machine slept or its clock was set.
	longestWait = time.Minute
)

// Guest is the sender of a handshake, and how long they may stay.
type Guest struct {
	User  string    // DID
	Until time.Time // the end of their tokens; zero means none
	// Part means that they came with less than all the user's rights: they cannot
	// answer questions about tools.
	Part bool
	// Check reports whether they may still stay: not after a fault of kind
	// Unauthenticated. Nil: no check is needed.
	Check func(ctx context.Context) error
}

// Why sockets are disconnected whose tokens were good once.
var (
	errExpired = fault.New(fault.Unauthenticated, "UCAN_EXPIRED", "The token has expired: connect again with a fresh one")
	errRevoked = fault.New(fault.Unauthenticated, "UCAN_INVALID", "The token no longer counts")
)

// visits are the members that may not stay for ever, ordered by when to check
// them next: a heap under mu of watch. One timer serves all of them.
type visits []*member

// Len is how many there are.
func (v visits) Len() int { return len(v) }

// Less orders members by when to check them.
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

// watch sends members away whose tokens no longer count. Its lock is taken
// inside that of the register, never around it.
type watch struct {
	every   time.Duration         // between two checks of a member whose keys can change
	ask     func(m *member) error // checks a member once more
	expired *atomic.Int64         // counts those sent away
	now     func() time.Time
	log     *slog.Logger

	mu        sync.Mutex
	visits    visits
	clock     *time.Timer // for the first of visits; nil until there is one
	unchecked []*member   // that wait to be checked
	checkers  int         // goroutines that do it
	stopped   bool        // no check begins any more
	checks    sync.WaitGroup
}

// begin runs f on a goroutine of its own, which wait waits for. It does not, and
// reports false, once watch has stopped.
func (w *watch) begin(f func()) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.stopped {
		w.checks.Go(f)
	}
	return !w.stopped
}

// wait returns when all that has begun is over. Call stop before.
func (w *watch) wait() { w.checks.Wait() }

// add has a new member looked at in time.
func (w *watch) add(m *member) {
	if m.until.IsZero() && m.check == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	m.due = w.nextLook(m)
	heap.Push(&w.visits, m)
	w.wind()
}

// remove forgets a member.
func (w *watch) remove(m *member) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if m.place > 0 {
		heap.Remove(&w.visits, m.place-1)
	}
}

// nextLook is when a member is to be looked at again: at the end of its tokens,
// or earlier if there is something to check.
func (w *watch) nextLook(m *member) time.Time {
	if m.check == nil {
		return m.until
	}
	next := w.now().Add(w.every)
	if !m.until.IsZero() && m.until.Before(next) {
		return m.until
	}
	return next
}

// wind sets the timer for the next member. The caller holds mu.
func (w *watch) wind() {
	if len(w.visits) == 0 || w.stopped {
		return
	}
	wait := min(max(w.visits[0].due.Sub(w.now()), 0), longestWait)
	if w.clock == nil {
		w.clock = time.AfterFunc(wait, w.wake)
		return
	}
	w.clock.Reset(wait)
}

// stop ends the watch, but not checks in progress.
func (w *watch) stop() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stopped = true
	w.unchecked = nil
	if w.clock != nil {
		w.clock.Stop()
	}
}

// wake sends away those whose tokens have ended and has the others checked whose
// time has come.
func (w *watch) wake() {
	var over []*member
	w.mu.Lock()
	for now := w.now(); !w.stopped && len(w.visits) > 0 && !w.visits[0].due.After(now); {
		m := w.visits[0]
		if !m.until.IsZero() && !m.until.After(now) {
			heap.Pop(&w.visits)
			over = append(over, m)
			continue
		}
		// Until the answer is there only the end of its tokens counts.
		m.due = cmp.Or(m.until, now.Add(w.every))
		heap.Fix(&w.visits, 0)
		if !m.checking {
			m.checking = true
			w.unchecked = append(w.unchecked, m)
		}
	}
	w.wind()
	for !w.stopped && w.checkers < min(len(w.unchecked), recheckers) {
		w.checkers++
		w.checks.Go(w.recheck)
	}
	w.mu.Unlock()
	for _, m := range over {
		w.sendAway(m, errExpired)
	}
}

// recheck checks members until none is left to check.
func (w *watch) recheck() {
	for {
		m := w.nextUnchecked()
		if m == nil {
			return
		}
		err := w.ask(m)
		if fault.KindOf(err) == fault.Unauthenticated {
			w.sendAway(m, errRevoked.Wrap(err))
			continue
		}
		w.mu.Lock()
		m.checking = false
		if m.place > 0 {
			m.due = w.nextLook(m)
			heap.Fix(&w.visits, m.place-1)
			w.wind()
		}
		w.mu.Unlock()
	}
}

// nextUnchecked takes a member to check; nil ends a checker.
func (w *watch) nextUnchecked() *member {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.unchecked) > 0 {
		m := w.unchecked[0]
		w.unchecked[0], w.unchecked = nil, w.unchecked[1:]
		if m.place > 0 {
			return m
		}
	}
	w.unchecked = nil
	w.checkers--
	return nil
}

// sendAway disconnects a member whose tokens no longer count. Its client may
// connect again with others.
func (w *watch) sendAway(m *member, why *fault.Error) {
	w.expired.Add(1)
	w.log.Debug("socket sent away", "code", why.Code)
	_ = m.socket.Emit(eventException, newException("connection", why.Message)) // it may have left
	m.socket.Close()
}
