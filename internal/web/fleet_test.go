package web_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// wire carries messages of servers to each of them on its own, in order, after a time that differs.
type wire struct {
	mu    sync.Mutex
	slow  time.Duration // how long a message takes at most
	cut   bool
	lose  float64 // part of the messages that do not arrive
	chaos *rand.Rand
	ends  []*end
	sent  []string
}

// end is where the messages of a wire arrive.
type end struct {
	queue chan parcel
	cut   bool
}

type parcel struct {
	text string
	due  time.Time
}

// publish sends a message of the server at an end.
func (w *wire) publish(from *end, m string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, m)
	for _, e := range w.ends {
		if !w.cut && !from.cut && !e.cut && w.chaos.Float64() >= w.lose {
			e.queue <- parcel{m, time.Now().Add(time.Duration(w.chaos.Int64N(int64(w.slow) + 1)))}
		}
	}
}

func (w *wire) set(change func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change()
}

// fleet is some servers whose limiters count together.
type fleet struct {
	wire     *wire
	servers  atomic.Int64
	limiters []*web.Limiter
	fleets   []*web.Fleet
	stops    []func()
	limit    int
}

// newFleet starts servers in a bubble of synctest, and waits until they hear each other.
func newFleet(t *testing.T, servers, perMinute int, slow time.Duration) *fleet {
	t.Helper()
	f := &fleet{wire: &wire{slow: slow, chaos: rand.New(rand.NewPCG(1, uint64(servers)))}, limit: perMinute}
	f.servers.Store(int64(servers))
	for range servers {
		f.start(t)
	}
	f.hear(t)
	return f
}

// start adds a server.
func (f *fleet) start(t *testing.T) {
	t.Helper()
	e := &end{queue: make(chan parcel, 100_000)}
	one := web.NewFleet(web.FleetConfig{Key: []byte("key"), Publish: func(m string) { f.wire.publish(e, m) }, Servers: func() int { return int(f.servers.Load()) }})
	f.fleets = append(f.fleets, one)
	f.limiters = append(f.limiters, web.NewLimiter(web.LimiterConfig{PerMinute: f.limit, Fleet: one, Name: "test"}))
	f.wire.set(func() { f.wire.ends = append(f.wire.ends, e) })
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for {
			select {
			case m := <-e.queue:
				time.Sleep(time.Until(m.due)) // in the bubble: nobody waits
				one.Hear(m.text)
			case <-ctx.Done():
				return
			}
		}
	})
	running.Go(func() { _ = one.Run(ctx) })
	stop := sync.OnceFunc(func() { cancel(); running.Wait() })
	f.stops = append(f.stops, stop)
	t.Cleanup(stop)
}

// hear waits until all servers hear each other.
func (f *fleet) hear(t *testing.T) {
	t.Helper()
	for i, one := range f.fleets {
		within(t, fmt.Sprintf("server %d hears", i), one.Hears)
	}
}

func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for range 60_000 {
		if holds() {
			return
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatalf("not within a minute: %s", what)
}

// flood asks limiters at once until each has refused, and tells how many passed without
// those beyond the limit that came back meanwhile.
func (f *fleet) flood(at []*web.Limiter, name string) int {
	var passed atomic.Int64
	var wg sync.WaitGroup
	began := time.Now()
	for _, l := range at {
		for range 4 {
			wg.Go(func() {
				for l.Allow(name).OK {
					passed.Add(1)
					time.Sleep(100 * time.Microsecond)
				}
			})
		}
	}
	wg.Wait()
	return max(int(passed.Load())-f.back(began), min(int(passed.Load()), f.limit))
}

// back is how many tokens have come back since a time.
func (f *fleet) back(since time.Time) int { return f.limit * int(time.Since(since)) / int(time.Minute) }

// most is what may pass at all servers together.
func (f *fleet) most() int { return f.limit + f.limit/4 }

// TestFleet: a name has the whole limit at one server, and at most a quarter more at all,
// however long messages take.
func TestFleet(t *testing.T) {
	t.Parallel()
	for _, slow := range []time.Duration{0, 3 * time.Millisecond, 100 * time.Millisecond} {
		for _, c := range []struct{ servers, limit int }{{1, 100}, {2, 8}, {3, 20}, {3, 100}, {3, 240}, {3, 6000}, {5, 600}, {12, 600}} {
			t.Run(fmt.Sprintf("%d servers, %d a minute, %s", c.servers, c.limit, slow), func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					f := newFleet(t, c.servers, c.limit, slow)
					if n := f.flood(f.limiters[:1], "one"); n < c.limit || n > c.limit+1 {
						t.Errorf("%d at one server, want %d", n, c.limit)
					}
					before := 0
					f.wire.set(func() { before = len(f.wire.sent) })
					n := f.flood(f.limiters, "+254700000001")
					if n < c.limit-1 || n > f.most() {
						t.Errorf("%d at all servers, want %d and at most a quarter more", n, c.limit)
					}
					f.wire.set(func() {
						t.Logf("%d of %d at all servers, %d messages", n, c.limit, len(f.wire.sent)-before)
						if strings.Contains(strings.Join(f.wire.sent, " "), "254700000001") {
							t.Error("a message names who is limited")
						}
						if c.servers == 1 && len(f.wire.sent) > 0 {
							t.Errorf("a server alone sends %q", f.wire.sent)
						}
					})
				})
			})
		}
	}
}

// TestFleetTogether: what trickles at every server counts together too.
func TestFleetTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, 600, 3*time.Millisecond)
		f.flood(f.limiters, "a") // the bucket is empty
		passed := 0
		for range 600 { // a minute, each server at the whole rate
			time.Sleep(100 * time.Millisecond)
			for _, l := range f.limiters {
				if l.Allow("a").OK {
					passed++
				}
			}
		}
		if passed > f.most() {
			t.Errorf("%d in a minute at three servers, want 600 and at most a quarter more", passed)
		}
	})
}

// TestFleetSilent: without messages each server gives its share, whenever they stop, and the whole
// limit to others once they come again.
func TestFleetSilent(t *testing.T) {
	t.Parallel()
	for _, before := range []time.Duration{0, 2 * time.Millisecond, 5 * time.Millisecond, 20 * time.Millisecond} {
		t.Run(before.String(), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, 3, 600, 3*time.Millisecond)
				time.AfterFunc(before, func() { f.wire.set(func() { f.wire.cut = true }) })
				if n := f.flood(f.limiters, "a"); n > f.most() || n < 550 {
					t.Errorf("%d at all servers, the messages stop meanwhile: want at most a quarter over 600", n)
				}
				time.Sleep(3 * time.Second)
				for i, one := range f.fleets {
					f.limiters[i].Allow("notices")
					if n := f.flood(f.limiters[i:i+1], fmt.Sprint("b", i)); one.Hears() || n > 210 {
						t.Errorf("%d without messages at server %d, want a third of 600", n, i)
					}
				}
				spent := time.Now()
				n := f.flood(f.limiters, "c")
				if n < 590 || n > f.most() {
					t.Errorf("%d without messages at all servers, want 600", n)
				}
				f.wire.set(func() { f.wire.cut = false })
				f.hear(t)
				if more := f.flood(f.limiters, "c") + n - f.back(spent); more > f.most() {
					t.Errorf("%d in all once messages come again, want at most a quarter over 600", more)
				}
				if n := f.flood(f.limiters[:1], "d"); n < 600 || n > 601 {
					t.Errorf("%d once messages come again, want 600", n)
				}
			})
		})
	}
}

// TestFleetBreaks: no more passes than may while links of servers break, for less time and for more than
// the others take to notice.
func TestFleetBreaks(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, 240, 3*time.Millisecond)
		for i := range 100 {
			at, begin := i%3, time.Duration(i%20)*time.Millisecond
			cut := func(yes bool) { f.wire.set(func() { f.wire.ends[at].cut = yes }) }
			time.AfterFunc(begin, func() { cut(true) })
			time.AfterFunc(begin+time.Duration(1+i*i%1700)*time.Millisecond, func() { // after it was cut
				cut(false)
				f.fleets[at].Missed()
			})
			if n := f.flood(f.limiters, fmt.Sprint(i)); n > f.most() {
				t.Errorf("round %d: %d at all servers while a link breaks, want at most a quarter over 240", i, n)
			}
			time.Sleep(3 * time.Second)
			f.hear(t)
		}
		if n := f.flood(f.limiters[:1], "whole"); n < 240 || n > 241 {
			t.Errorf("%d once the links hold, want 240", n)
		}
	})
}

// TestFleetLoses: servers that lose single messages, which no bus does in silence, find each other
// again. Until then none may know what the others have spent of their parts.
func TestFleetLoses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 3, 240, 3*time.Millisecond)
		f.wire.set(func() { f.wire.lose = 0.1 })
		for i := range 50 {
			if n := f.flood(f.limiters, fmt.Sprint(i)); n > 240+2*240/3 {
				t.Errorf("%d at all servers while messages are lost, want at most the parts of two over 240", n)
			}
		}
		f.wire.set(func() { f.wire.lose = 0 })
		f.hear(t)
		if n := f.flood(f.limiters[:1], "whole"); n < 240 || n > 241 {
			t.Errorf("%d once nothing is lost, want 240", n)
		}
	})
}

// TestFleetChanges: a server that has just come knows what was spent, one that stops in order
// disturbs nobody, and one that dies only until it no longer counts.
func TestFleetChanges(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, 2, 600, 3*time.Millisecond)
		n := f.flood(f.limiters, "a")
		spent := time.Now()
		f.start(t)
		if n += f.flood(f.limiters[2:], "a"); n > f.most()+f.back(spent) { // before it is counted
			t.Errorf("%d with a server that has just come, want at most a quarter over 600", n)
		}
		f.servers.Store(3)
		f.hear(t)

		f.stops[2]()
		for range 40 {
			if time.Sleep(100 * time.Millisecond); !f.fleets[0].Hears() {
				t.Error("a server that stopped in order is waited for")
				break
			}
		}
		f.servers.Store(2)
		time.Sleep(5 * time.Second)

		f.start(t)
		f.servers.Store(3)
		f.fleets, f.limiters = slices.Delete(f.fleets, 2, 3), slices.Delete(f.limiters, 2, 3)
		f.hear(t)
		dead := f.fleets[2]
		f.wire.set(func() { f.wire.ends = f.wire.ends[:2] }) // it hears nothing and is not heard: its messages confirm nothing new
		began := time.Now()
		if n := f.flood(f.limiters[:2], "b"); n > f.most() || time.Since(began) > 4*time.Second {
			t.Errorf("%d in %s while one is dead", n, time.Since(began))
		}
		f.servers.Store(2)
		f.stops[3]()
		within(t, "the dead is forgotten", func() bool { return f.fleets[0].Hears() && f.fleets[1].Hears() && !dead.Hears() })
		if n := f.flood(f.limiters[:1], "c"); n < 600 || n > 601 {
			t.Errorf("%d once the dead one no longer counts, want 600", n)
		}
	})
}

// TestFleetAlone: whoever asks a server that has just started, and still counts one that was killed,
// is answered when that one no longer counts; and when the last one it spoke with leaves.
func TestFleetAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := &fleet{wire: &wire{slow: 3 * time.Millisecond, chaos: rand.New(rand.NewPCG(1, 1))}, limit: 600}
		f.servers.Store(2)
		f.start(t)
		answered := f.ask(0, "a", 12)
		time.AfterFunc(400*time.Millisecond, func() { f.servers.Store(1) })
		within(t, "all are answered", func() bool { return answered.Load() == 12 })

		f.start(t)
		f.servers.Store(2)
		f.hear(t)
		for range 10 { // others are told of it in some time
			f.limiters[0].Allow("b")
		}
		f.stops[1]()
		f.servers.Store(1)
		time.Sleep(6 * time.Second)
		f.start(t)
		f.servers.Store(2)
		within(t, "servers hear each other", func() bool { return f.fleets[0].Hears() && f.fleets[2].Hears() })
		answered = f.ask(0, "b", 700)
		within(t, "all are answered again", func() bool { return answered.Load() == 700 })
	})
}

// ask has a number of callers ask a server at once, and counts who is answered.
func (f *fleet) ask(server int, name string, callers int) *atomic.Int64 {
	var answered atomic.Int64
	for range callers {
		go func() {
			f.limiters[server].Allow(name)
			answered.Add(1)
		}()
	}
	return &answered
}
