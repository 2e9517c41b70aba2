package bus_test

import (
	"fmt"
	"net"
	"slices"
	"strings"
	"testing"
	"time"

	natsserver "github.com/nats-io/nats-server/v2/server"

	"github.com/hearth-dmrv/hearth/internal/bus"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
)

// natsAt runs a NATS server in this process; port -1 is any.
func natsAt(t *testing.T, port int) *natsserver.Server {
	t.Helper()
	s, err := natsserver.NewServer(&natsserver.Options{Host: "127.0.0.1", Port: port, NoSigs: true, NoLog: true})
	if err != nil {
		t.Fatal(err)
	}
	go s.Start()
	if !s.ReadyForConnections(time.Minute) {
		t.Fatal("the NATS server does not start")
	}
	t.Cleanup(s.Shutdown)
	return s
}

func onNATS(t *testing.T, url, space string) *bus.NATS {
	t.Helper()
	b, err := bus.NewNATS(t.Context(), bus.NATSConfig{URL: url, Space: space, Log: dbtest.Log(t)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return b
}

// each runs f over every kind of bus. more makes another instance; in one process
// that is the same bus.
func each(t *testing.T, f func(t *testing.T, more func() bus.Bus)) {
	t.Helper()
	t.Run("local", func(t *testing.T) {
		t.Parallel()
		b := bus.New()
		t.Cleanup(b.Close)
		f(t, func() bus.Bus { return b })
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		url := dbtest.URL(t)
		f(t, func() bus.Bus { return connect(t, url) })
	})
	t.Run("nats", func(t *testing.T) {
		t.Parallel()
		s := natsAt(t, -1)
		f(t, func() bus.Bus { return joined(t, onNATS(t, s.ClientURL(), "suite")) })
	})
}

// joined waits until a bus is connected and has said so to its subscribers.
func joined(t *testing.T, b *bus.NATS) *bus.NATS {
	t.Helper()
	tick, end := time.NewTicker(5*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for b.Degraded() {
		select {
		case <-tick.C:
		case <-end:
			t.Fatal("not connected within a minute")
		}
	}
	return b
}

// next is the next message that was not lost: whoever connects tells all that they
// may have missed something.
func next(t *testing.T, c <-chan bus.Message) bus.Message {
	t.Helper()
	for {
		if m := receive(t, c); !m.Missed {
			return m
		}
	}
}

// greet has b hear of a until it does: on NATS a subscription takes a moment to
// reach the server.
func greet(t *testing.T, a, b bus.Bus) {
	t.Helper()
	c := make(chan bus.Message, 1000)
	cancel := b.Subscribe("greet.*", func(m bus.Message) {
		select {
		case c <- m:
		default:
		}
	})
	defer cancel()
	tick, end := time.NewTicker(20*time.Millisecond), time.After(time.Minute)
	defer tick.Stop()
	for i := 0; ; i++ {
		publish(t, a, "greet.you", fmt.Sprint(i))
		select {
		case m := <-c:
			if !m.Missed {
				return
			}
		case <-tick.C:
		case <-end:
			t.Fatal("nothing heard within a minute")
		}
	}
}

func TestOrder(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, more func() bus.Bus) {
		one, two := more(), more()
		all, some := channelOf(two, "events.*"), channelOf(two, "events.a b.c")
		greet(t, one, two)
		for i := range 40 {
			publish(t, one, []string{"events.a b.c", "events.é*>"}[i%2], fmt.Sprint(i))
		}
		for i := range 40 {
			if got := next(t, all); got.Payload != fmt.Sprint(i) || got.Which() != []string{"a b.c", "é*>"}[i%2] {
				t.Fatalf("message %d = %+v, want them in order", i, got)
			}
		}
		for i := range 20 {
			if got := next(t, some); got.Payload != fmt.Sprint(2*i) || got.Topic != "events.a b.c" {
				t.Fatalf("message %d of one topic = %+v", i, got)
			}
		}
	})
}

func TestLongNotes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, more func() bus.Bus) {
		one, two, three := more(), more(), more()
		c := channelOf(three, "sockets.*")
		greet(t, one, three)
		greet(t, two, three)
		want := []string{strings.Repeat("x", 40<<10), strings.Repeat("é", 20<<10), strings.Repeat("z", bus.MaxPayload), "short"}
		for _, p := range want {
			publish(t, one, "sockets.s1", p)
			publish(t, two, "sockets.s2", p)
		}
		got := map[string][]string{}
		for range 2 * len(want) {
			m := next(t, c)
			got[m.Which()] = append(got[m.Which()], m.Payload)
		}
		for _, s := range []string{"s1", "s2"} {
			if !slices.Equal(got[s], want) {
				t.Errorf("of %s came %d notes, want the %d that were sent, whole", s, len(got[s]), len(want))
			}
		}
	})
}

func TestThirtyClients(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, more func() bus.Bus) {
		const n = 30
		var all []bus.Bus
		var ears []<-chan bus.Message
		for range n {
			b := more()
			all, ears = append(all, b), append(ears, channelOf(b, "runs.*"))
		}
		for i := range n {
			greet(t, all[(i+1)%n], all[i])
		}
		for i := range 3 {
			publish(t, all[i*7], "runs.r", fmt.Sprint(i))
			for k, c := range ears {
				if got := next(t, c); got.Payload != fmt.Sprint(i) {
					t.Fatalf("client %d got %+v, want message %d", k, got, i)
				}
			}
		}
	})
}

// TestNATSGone: without a server the process goes on, its subscribers look for
// themselves, and all is well when it is back.
func TestNATSGone(t *testing.T) {
	t.Parallel()
	s := natsAt(t, -1)
	url, port := s.ClientURL(), s.Addr().(*net.TCPAddr).Port
	one, two := joined(t, onNATS(t, url, "gone")), joined(t, onNATS(t, url, "gone"))
	other := channelOf(joined(t, onNATS(t, url, "another store")), "events.*")
	c := channelOf(two, "events.*")
	greet(t, one, two)
	s.Shutdown()
	s.WaitForShutdown()
	publish(t, one, "events.a", "nobody hears this")
	for range 2 {
		for !receive(t, c).Missed {
			t.Log("a message from before")
		}
	}
	if !two.Degraded() {
		t.Error("without a server it is not degraded")
	}
	own := channelOf(one, "events.*")
	publish(t, one, "events.a", "own")
	if got := next(t, own); got.Payload != "own" {
		t.Errorf("own process got %+v", got)
	}
	natsAt(t, port)
	joined(t, one)
	joined(t, two)
	greet(t, one, two)
	publish(t, one, "events.a", "after")
	if got := next(t, c); got.Payload != "after" {
		t.Errorf("got %+v, want the message after the break", got)
	}
	for len(other) > 0 {
		if m := <-other; !m.Missed {
			t.Errorf("another store heard %+v", m)
		}
	}
}

func TestNATSFails(t *testing.T) {
	t.Parallel()
	if b, err := bus.NewNATS(t.Context(), bus.NATSConfig{URL: "nats://127.0.0.1:1", Credentials: "/nowhere", Space: "x", Log: dbtest.Log(t)}); err == nil {
		b.Close()
		t.Error("credentials that are not there were taken")
	}
	b, err := bus.NewNATS(t.Context(), bus.NATSConfig{URL: "nats://127.0.0.1:1", Space: "x", Log: dbtest.Log(t)})
	if err != nil {
		t.Fatalf("a server that is not there: %v, want a bus that waits for it", err)
	}
	defer b.Close()
	c := channelOf(b, "a")
	publish(t, b, "a", "x")
	if got := next(t, c); got.Payload != "x" || !b.Degraded() {
		t.Errorf("got %+v, degraded %v", got, b.Degraded())
	}
}
