package ussd

import (
	"context"
	"errors"
	"hash/maphash"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
)

// maxLate is how many late steps are remembered.
const maxLate = 4096

// flights are the running steps of this process. Copies of a request join the
// flight of the first and get its answer. A request that has waited long enough
// is answered that the service is unavailable, while the step continues: it is
// stored once, and its copies get its answer.
type flights struct {
	seed  maphash.Seed
	parts [32]flightPart
	room  atomic.Int64 // flights that may still begin
	late  late
	up    sync.WaitGroup
}

type flightPart struct {
	mu sync.Mutex
	at map[ticket]*flight
}

// ticket names a request: all copies of it have the same.
type ticket struct{ id, text string }

// flight is one step at work.
type flight struct {
	q       request
	done    chan struct{} // closed when it is over; nil until a copy waits for it
	over    bool          // guarded by its part, as are done and waiting
	waiting int
	out     outcome
	err     error
}

func (f *flights) init(room int) {
	f.seed = maphash.MakeSeed()
	for i := range f.parts {
		f.parts[i].at = map[ticket]*flight{}
	}
	f.room.Store(int64(room))
	f.late.at = map[ticket]time.Time{}
}

func (f *flights) part(t *ticket) *flightPart {
	return &f.parts[maphash.String(f.seed, t.id)%uint64(len(f.parts))]
}

func overloaded() error {
	return fault.New(fault.Unavailable, "OVERLOADED", "The server is busy. Try again in a moment.").After(time.Second)
}

func tooSlow() error {
	return fault.New(fault.Unavailable, "STORE_SLOW", "The step could not be stored in time.")
}

// answer takes a step and waits for it, but not longer than the deadline. The
// step does not end with the request: a gateway that hangs up early sends it
// again.
func (s *Service) answer(ctx context.Context, q *request) (outcome, error) {
	ctx = s.db.Lane(ctx, db.Handset)
	t := ticket{q.key.id, q.whole()}
	p := s.flights.part(&t)
	timer := s.timers.Get().(*time.Timer)
	timer.Reset(s.deadline)
	defer func() { timer.Stop(); s.timers.Put(timer) }()
	for {
		f, mine, err := s.board(p, &t, q)
		switch {
		case err != nil:
			return outcome{}, err
		case mine:
			return s.fly(context.WithoutCancel(ctx), f, p, timer.C)
		}
		over := false
		select {
		case <-f.done:
		case <-timer.C:
			if over = true; p.leave(f) {
				return outcome{}, tooSlow()
			}
		}
		switch {
		case !errors.Is(f.err, context.Canceled):
			return f.out, f.err
		case over:
			return outcome{}, tooSlow()
		}
		// It was withdrawn. Who joined it late has time for a step of their own.
	}
}

// board joins the flight of a request, or begins it.
func (s *Service) board(p *flightPart, t *ticket, q *request) (f *flight, mine bool, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f = p.at[*t]; f == nil {
		if s.flights.room.Add(-1) < 0 {
			s.flights.room.Add(1)
			return nil, false, overloaded()
		}
		f, mine = &flight{q: *q}, true
		f.q.copied = s.flights.late.has(t, s.now)
		p.at[*t] = f
	} else if f.done == nil {
		f.done = make(chan struct{})
	}
	f.waiting++
	return f, mine, nil
}

// leave stops waiting for a flight, unless it is over.
func (p *flightPart) leave(f *flight) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if f.over {
		return false
	}
	f.waiting--
	return true
}

// fly runs the step of a flight for the request that began it. When time is up
// a step that has not begun is withdrawn; one that has begun continues alone,
// and is stored once or not at all.
func (s *Service) fly(ctx context.Context, f *flight, p *flightPart, stop <-chan time.Time) (outcome, error) {
	st := s.begin(ctx, f)
	if st.wait(ctx, stop) {
		s.land(ctx, st, p)
		return st.out, st.err
	}
	p.leave(f)
	if st.call.Quit() {
		st.err = context.Canceled
		s.land(ctx, st, p)
	} else {
		s.flights.up.Go(func() {
			st.wait(ctx, nil)
			s.land(ctx, st, p)
		})
	}
	return outcome{}, tooSlow()
}

// land ends a flight: its copies get what the step gave.
func (s *Service) land(ctx context.Context, st *steps, p *flightPart) {
	f := st.f
	t := ticket{f.q.key.id, f.q.whole()}
	p.mu.Lock()
	f.out, f.err, f.over = st.out, st.err, true
	if f.done != nil {
		close(f.done)
	}
	delete(p.at, t)
	missed := f.waiting == 0 && f.err == nil
	if missed || f.err != nil && db.OutcomeUnknown(f.err) {
		s.flights.late.add(t, s.now(), s.cfg.TTL)
	}
	p.mu.Unlock()
	s.flights.room.Add(1)
	if missed && f.out.effect && s.cfg.Late != nil {
		s.cfg.Late(ctx, f.q.key.phone, f.out.reply.Text)
	}
}

// inTime runs work that no screen depends on, with the same deadline and
// capacity as a step.
func (s *Service) inTime(ctx context.Context, work func(ctx context.Context) error) error {
	if s.flights.room.Add(-1) < 0 {
		s.flights.room.Add(1)
		return overloaded()
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(s.db.Lane(ctx, db.Handset)), s.deadline)
	done := make(chan error, 1)
	s.flights.up.Go(func() {
		defer s.flights.room.Add(1)
		done <- work(ctx)
	})
	defer cancel() // here, for work that is over must not look like time that is up
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return tooSlow()
	}
}

// Wait waits for steps whose requests have gone. Call it when no request can
// come in and before the store is closed.
func (s *Service) Wait() { s.flights.up.Wait() }

// late remembers steps whose answer did not arrive, so that the same text is
// recognised as a copy where texts do not accumulate.
type late struct {
	mu sync.Mutex
	at map[ticket]time.Time // until when
	n  atomic.Int64
}

func (l *late) add(t ticket, now time.Time, keep time.Duration) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for old, until := range l.at {
		if until.Before(now) || len(l.at) >= maxLate {
			delete(l.at, old)
		}
	}
	l.at[t] = now.Add(keep)
	l.n.Store(int64(len(l.at)))
}

func (l *late) has(t *ticket, now func() time.Time) bool {
	if l.n.Load() == 0 { // nearly always
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.at[*t].After(now())
}
