package socket_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
)

// stays has everybody stay as f says.
func (r *rig) stays(f func(token string) socket.Guest) {
	r.dir.mu.Lock()
	defer r.dir.mu.Unlock()
	r.dir.stay = f
}

// TestExpiry: a socket ends with the token it came with, is told why, and its
// client may come back with a fresh one; others stay.
func TestExpiry(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.stays(func(token string) socket.Guest {
		if token == "bob" {
			return socket.Guest{Until: time.Now().Add(time.Hour)}
		}
		return socket.Guest{Until: time.Now().Add(50 * time.Millisecond)}
	})
	other := r.join(t, his, "bob")
	p := r.join(t, hers, "alice")
	out := r.asking(t, alice, hers, browser("pick"), `{}`)
	told := p.refused()
	if last := told[len(told)-1]; !strings.HasPrefix(last, `42["exception",`) || !strings.Contains(last, "expired") {
		t.Errorf("told %q, want that the token has expired", told)
	}
	if got := wait(t, out); got.Err == "" {
		t.Errorf("call = %+v, want a failure: its page is gone", got)
	}
	until(t, "the socket is forgotten", func() bool { return r.Stats().Sockets == 1 })
	r.stays(nil)
	r.join(t, hers, "alice").quiet()
	other.quiet()
	if got := r.Stats(); got.Expired != 1 || got.Refused != 0 {
		t.Errorf("stats = %+v, want one that expired", got)
	}
}

// TestExpiryOrder: sockets end in the order of their tokens, whatever the order
// in which they came, and one timer serves them all.
func TestExpiryOrder(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	base, n := time.Now().Add(300*time.Millisecond), 0
	offsets := []int{5, 1, 4, 0, 3, 2}
	r.stays(func(string) socket.Guest {
		n++
		return socket.Guest{Until: base.Add(time.Duration(offsets[n-1]) * 30 * time.Millisecond)}
	})
	ends := make([]chan time.Time, len(offsets))
	for i := range offsets {
		p, end := r.join(t, hers, "alice"), make(chan time.Time, 1)
		ends[i] = end
		go func() {
			for {
				if text, err := p.Text(); err != nil || text == "41" {
					end <- time.Now()
					return
				}
			}
		}()
	}
	for i, end := range ends {
		if got, want := wait(t, end), base.Add(time.Duration(offsets[i])*30*time.Millisecond); got.Before(want) {
			t.Errorf("socket %d ended %v before its token", i, want.Sub(got))
		}
	}
}

// TestKeyRemoved: a socket ends when the key of its token is taken away. That
// one cannot look does not end it.
func TestKeyRemoved(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *socket.Config) { c.Recheck = 5 * time.Millisecond })
	var asked atomic.Int64
	var verdict atomic.Pointer[error]
	say := func(err error) { verdict.Store(&err) }
	say(nil)
	r.stays(func(token string) socket.Guest {
		if token == "bob" {
			return socket.Guest{}
		}
		return socket.Guest{Until: time.Now().Add(time.Hour), Check: func(ctx context.Context) error {
			if _, ok := ctx.Deadline(); !ok {
				t.Error("a check without a deadline")
			}
			asked.Add(1)
			return *verdict.Load()
		}}
	})
	other, p := r.join(t, his, "bob"), r.join(t, hers, "alice")
	more := func(what string) {
		t.Helper()
		n := asked.Load()
		until(t, what, func() bool { return asked.Load() > n+3 })
	}
	more("checks while the key is good")
	say(errors.New("database is gone"))
	more("checks while nobody can look")
	say(fault.New(fault.Unavailable, "UCAN_KEYS_UNAVAILABLE", "Later."))
	more("checks while keys cannot be had")
	p.quiet()
	say(fault.New(fault.Unauthenticated, "UCAN_INVALID", "Invalid UCAN invocation"))
	if told := p.refused(); len(told) != 1 || !strings.Contains(told[0], "no longer counts") {
		t.Errorf("told %q, want one exception", told)
	}
	until(t, "the socket is forgotten", func() bool { return r.Stats().Sockets == 1 })
	other.quiet()
}

// TestExpiryWhileChecking: a check that hangs does not keep a token alive, nor
// those of others.
func TestExpiryWhileChecking(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *socket.Config) { c.Recheck = time.Millisecond })
	hang := make(chan struct{})
	t.Cleanup(func() { close(hang) })
	began := make(chan struct{}, 64)
	r.stays(func(string) socket.Guest {
		return socket.Guest{Until: time.Now().Add(200 * time.Millisecond), Check: func(context.Context) error {
			began <- struct{}{}
			<-hang
			return nil
		}}
	})
	var pages []*page
	for range 12 { // more than are checked at once
		pages = append(pages, r.join(t, hers, "alice"))
	}
	wait(t, began)
	for _, p := range pages {
		p.refused()
	}
}

// TestStayIsCheap: sockets that wait for the end of their tokens cost no
// goroutine and no timer of their own. It is not parallel: it counts.
//
//nolint:paralleltest // see above
func TestStayIsCheap(t *testing.T) {
	r := start(t, func(c *socket.Config) { c.MaxPerUser = -1 })
	const clients = 200
	grown := func(stay func(string) socket.Guest) int {
		r.stays(stay)
		before := ours()
		for range clients {
			r.join(t, hers, "alice")
		}
		until(t, "all are in", func() bool { return r.Stats().Sockets%clients == 0 })
		var after int
		until(t, "handshakes are over", func() bool {
			after = ours()
			return after-before <= 2*clients // reader of the server, and of the test's client
		})
		return after - before
	}
	bare := grown(nil)
	check := func(context.Context) error { return nil }
	if kept := grown(func(string) socket.Guest { return socket.Guest{Until: time.Now().Add(time.Hour), Check: check} }); kept > bare+5 {
		t.Errorf("%d sockets with tokens that end have %d goroutines, without %d", clients, kept, bare)
	}
	if got := r.Watched(); got != clients {
		t.Errorf("%d are watched, want %d", got, clients)
	}
}

// BenchmarkIdleMember is what a socket costs that waits for the end of its
// tokens, the client's end of the connection included. One whose token is kept
// to be checked again has that beside it.
func BenchmarkIdleMember(b *testing.B) {
	token := strings.Repeat("t", 1100)
	for name, stay := range map[string]func(string) socket.Guest{
		"forever": nil,
		"until":   func(string) socket.Guest { return socket.Guest{Until: time.Now().Add(time.Hour)} },
		"rechecks": func(string) socket.Guest {
			kept := strings.Clone(token)
			return socket.Guest{Until: time.Now().Add(time.Hour), Check: func(context.Context) error { return errors.New(kept) }}
		},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				r := start(b, func(c *socket.Config) { c.MaxPerUser = -1 })
				r.stays(stay)
				before := inUse()
				const sockets = 1000
				for range sockets {
					r.join(b, hers, "alice")
				}
				b.ReportMetric(float64(inUse()-before)/sockets, "B/socket")
			}
		})
	}
}

func inUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc + m.StackInuse
}

// BenchmarkStay is a socket that comes and goes among ten thousand whose tokens
// end some time.
func BenchmarkStay(b *testing.B) {
	h := socket.New(b.Context(), socket.Config{})
	come := socket.Comer(h)
	at := time.Now().Add(time.Hour)
	for i := range 10_000 {
		come(at.Add(time.Duration(i*7919%10_000) * time.Second))
	}
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		come(at.Add(time.Duration(i%10_000) * time.Second))()
	}
}
