package web_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/web"
)

// wire carries messages of some servers to all of them, in one order.
type wire struct {
	mu    sync.Mutex
	cut   bool
	queue chan string
	all   []*web.Fleet
	sent  []string
}

func (w *wire) publish(m string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.sent = append(w.sent, m)
	if !w.cut {
		w.queue <- m
	}
}

func (w *wire) cutIt(cut bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cut = cut
}

// messages are those that were sent so far.
func (w *wire) messages() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.sent)
}

func (w *wire) run() {
	for m := range w.queue {
		for _, f := range w.all {
			f.Hear(m)
		}
	}
}

// newFleet makes servers whose limiters count together, and waits until they do.
func newFleet(t *testing.T, servers, perMinute int, now func() time.Time) ([]*web.Limiter, *wire) {
	t.Helper()
	w := &wire{queue: make(chan string, 10_000)}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	var all []*web.Limiter
	for range servers {
		f := web.NewFleet(web.FleetConfig{Key: []byte("key"), Publish: w.publish, Servers: func() int { return servers }})
		w.all = append(w.all, f)
		all = append(all, web.NewLimiter(web.LimiterConfig{PerMinute: perMinute, Now: now, Fleet: f, Name: "test"}))
		running.Go(func() { _ = f.Run(ctx) })
	}
	var carrying sync.WaitGroup
	carrying.Go(w.run)
	t.Cleanup(func() {
		cancel()
		running.Wait()
		close(w.queue)
		carrying.Wait()
	})
	for i, f := range w.all {
		within(t, fmt.Sprintf("server %d hears", i), func() bool { return f.Hears() })
	}
	return all, w
}

func within(t *testing.T, what string, f func() bool) {
	t.Helper()
	tick, end := time.NewTicker(time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for !f() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// flood asks all limiters at once until each has refused, and tells how many passed.
func flood(all []*web.Limiter, name string) int64 {
	var passed atomic.Int64
	var wg sync.WaitGroup
	for _, l := range all {
		for range 4 {
			wg.Go(func() {
				for l.Allow(name).OK {
					passed.Add(1)
				}
			})
		}
	}
	wg.Wait()
	return passed.Load()
}

// TestFleet: a name has the whole limit at one server, and at most a quarter more at all.
func TestFleet(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	for _, c := range []struct{ servers, limit int }{{1, 100}, {2, 8}, {3, 20}, {3, 100}, {3, 6000}, {5, 600}} {
		t.Run(fmt.Sprintf("%d servers, %d a minute", c.servers, c.limit), func(t *testing.T) {
			t.Parallel()
			all, w := newFleet(t, c.servers, c.limit, func() time.Time { return clock })
			if n := flood(all[:1], "one"); n != int64(c.limit) {
				t.Errorf("%d at one server, want %d", n, c.limit)
			}
			n := flood(all, "+254700000001")
			if n < int64(c.limit) || 4*n > 5*int64(c.limit) {
				t.Errorf("%d at all servers, want %d and at most a quarter more", n, c.limit)
			}
			t.Logf("%d of %d at all servers, %d messages", n, c.limit, len(w.messages()))
			if strings.Contains(strings.Join(w.messages(), " "), "254700000001") {
				t.Error("a message names who is limited")
			}
		})
	}
}

// TestFleetTogether: what trickles at every server counts together too.
func TestFleetTogether(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	var mu sync.Mutex
	now := func() time.Time { mu.Lock(); defer mu.Unlock(); return clock }
	const limit = 600
	all, _ := newFleet(t, 3, limit, now)
	flood(all, "a") // the bucket is empty
	passed := 0
	for range 600 { // a minute, each server at the whole rate
		mu.Lock()
		clock = clock.Add(100 * time.Millisecond)
		mu.Unlock()
		for _, l := range all {
			if l.Allow("a").OK {
				passed++
			}
		}
	}
	if passed*4 > limit*5 {
		t.Errorf("%d in a minute at three servers, want %d and at most a quarter more", passed, limit)
	}
}

// TestFleetSilent: without messages each server gives its share, and the whole limit once
// they come again.
func TestFleetSilent(t *testing.T) {
	t.Parallel()
	clock := time.Now()
	all, w := newFleet(t, 3, 600, func() time.Time { return clock })
	w.cutIt(true)
	flood(all[:1], "notices") // waits for what does not come back, and gives up
	if w.all[0].Hears() {
		t.Error("a server that hears nothing believes that it does")
	}
	if n := flood(all[:1], "a"); n != 200 {
		t.Errorf("%d without messages, want a third of 600", n)
	}
	w.cutIt(false)
	within(t, "messages come again", w.all[0].Hears)
	if n := flood(all[:1], "b"); n != 600 {
		t.Errorf("%d once messages come again, want 600", n)
	}
	w.all[0].Missed()
	if n := flood(all[:1], "c"); n != 600 {
		t.Errorf("%d after some were lost, want 600", n)
	}
}
