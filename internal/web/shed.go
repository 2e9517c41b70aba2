package web

import (
	"context"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

// ShedConfig configures a Shedder.
type ShedConfig struct {
	InFlight int           // handlers at work at once; 512 by default
	Queue    int           // requests that may wait for a place; as many by default
	Wait     time.Duration // how long one waits at most; 500 ms by default
}

// Shedder bounds how many handlers run at once. Further requests wait a moment
// and are then refused, so that the running ones finish in time. A place is
// held while we work, not while a client sends its body or reads its answer:
// those may be slow, and the connection limits apply to them.
type Shedder struct {
	cfg     ShedConfig
	places  chan struct{}
	waiting atomic.Int64
	refused atomic.Int64
}

// NewShedder makes a shedder.
func NewShedder(c ShedConfig) *Shedder {
	c.InFlight = orDefault(c.InFlight, 512)
	c.Queue = orDefault(c.Queue, c.InFlight)
	c.Wait = orDefault(c.Wait, 500*time.Millisecond)
	return &Shedder{cfg: c, places: make(chan struct{}, c.InFlight)}
}

// HealthRoute reports whether r is a health check. Under load these are more
// frequent, and no answer would be taken for an answer.
func HealthRoute(r *http.Request) bool {
	switch r.URL.Path {
	case "/health", "/livez", "/readyz", "/metrics":
		return true
	}
	return false
}

// InFlight is the number of requests that hold a place.
func (s *Shedder) InFlight() int { return len(s.places) }

// Waiting is the number of requests that wait for a place.
func (s *Shedder) Waiting() int64 { return s.waiting.Load() }

// Refused is the number of requests that were refused.
func (s *Shedder) Refused() int64 { return s.refused.Load() }

// work runs f while r holds a place. A nil Shedder has room for all. The fault
// is OVERLOADED.
func (s *Shedder) work(r *http.Request, f func(r *http.Request) error) error {
	if s == nil {
		return f(r)
	}
	if !s.enter(r.Context()) {
		s.refused.Add(1)
		return fault.New(fault.Unavailable, "OVERLOADED", "The server is busy. Try again in a moment.").After(time.Second)
	}
	p := &place{of: s.places}
	defer p.leave()
	return f(fill(r, func(q *request) { q.place = p }))
}

// place is one that a request holds until it is given back, once.
type place struct {
	of   chan struct{}
	left atomic.Bool
}

func (p *place) leave() {
	if !p.left.Swap(true) {
		<-p.of
	}
}

// enter takes a place, after a wait if need be.
func (s *Shedder) enter(ctx context.Context) bool {
	select {
	case s.places <- struct{}{}:
		return true
	default:
	}
	if s.waiting.Add(1) > int64(s.cfg.Queue) {
		s.waiting.Add(-1)
		return false
	}
	defer s.waiting.Add(-1)
	t := time.NewTimer(s.cfg.Wait)
	defer t.Stop()
	select {
	case s.places <- struct{}{}:
		return true
	case <-t.C:
	case <-ctx.Done():
	}
	return false
}

// LeavePlace gives the place of a request back before it is over. Streams and
// sockets call it once they have started: they wait more than they work, and
// connection limits bound them.
func LeavePlace(ctx context.Context) {
	if q := infoFrom(ctx); q != nil && q.place != nil {
		q.place.leave()
	}
}
