package event

import (
	"maps"
	"slices"
	"sync"
)

// hub wakes readers in this process who wait for events. A wake-up only says
// "look at the log": it is never lost, may be superfluous, and a slow reader
// blocks nobody.
type hub struct {
	mu   sync.Mutex
	subs map[string]map[*Subscription]struct{} // by workspace; "" is all
}

// Subscription is woken when a workspace has new events.
type Subscription struct {
	// C receives a value after new events were stored. Look at the log after
	// each, and once before the first.
	C <-chan struct{}

	h     *hub
	ws    string
	c     chan struct{}
	mu    sync.Mutex
	fresh map[string]struct{}
	lost  bool // any workspace may be fresh
}

func newHub() *hub { return &hub{subs: map[string]map[*Subscription]struct{}{}} }

// subscribe waits for events of ws, of all workspaces for "".
func (h *hub) subscribe(ws string) *Subscription {
	c := make(chan struct{}, 1)
	s := &Subscription{C: c, h: h, ws: ws, c: c}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.subs[ws] == nil {
		h.subs[ws] = map[*Subscription]struct{}{}
	}
	h.subs[ws][s] = struct{}{}
	return s
}

// Close ends the subscription.
func (s *Subscription) Close() {
	s.h.mu.Lock()
	defer s.h.mu.Unlock()
	delete(s.h.subs[s.ws], s)
	if len(s.h.subs[s.ws]) == 0 {
		delete(s.h.subs, s.ws)
	}
}

// Workspaces takes the workspaces that have new events since the last call, in
// order. When all is true wake-ups were lost: any workspace may have some, and
// the list means nothing. It is for subscriptions to all of them.
func (s *Subscription) Workspaces() (list []string, all bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	list, all = slices.Sorted(maps.Keys(s.fresh)), s.lost
	clear(s.fresh)
	s.lost = false
	if all {
		return nil, true
	}
	return list, false
}

// wake wakes everybody who waits for ws.
func (h *hub) wake(ws string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for s := range h.subs[ws] {
		s.signal()
	}
	for s := range h.subs[""] {
		s.note(ws)
		s.signal()
	}
}

// wakeAll wakes everybody: wake-ups were lost, and anything may be new.
func (h *hub) wakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, subs := range h.subs {
		for s := range subs {
			s.noteAll()
			s.signal()
		}
	}
}

func (s *Subscription) noteAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lost = true
}

func (s *Subscription) note(ws string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fresh == nil {
		s.fresh = map[string]struct{}{}
	}
	s.fresh[ws] = struct{}{}
}

func (s *Subscription) signal() {
	select {
	case s.c <- struct{}{}:
	default: // it has not looked yet since the last one
	}
}
