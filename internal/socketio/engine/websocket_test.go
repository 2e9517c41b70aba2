package engine_test

import (
	"bytes"
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

func TestWebsocketMessages(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	c := g.dial("")
	send(t, c, "4hello", "6", "4żółć")
	expect(t, c, "4hello")
	expect(t, c, "4żółć")
	data := bytes.Repeat([]byte{0, 255}, 50_000)
	if err := c.SendFrame(engine.OpBinary, data); err != nil {
		t.Fatal(err)
	}
	if got, err := c.Binary(); err != nil || !bytes.Equal(got, data) {
		t.Errorf("binary echo = %d bytes, %v, want %d", len(got), err, len(data))
	}
	if err := c.SendFrame(engine.OpPing, []byte("are you there")); err != nil {
		t.Fatal(err)
	}
	if op, got, err := c.Next(); op != engine.OpPong || string(got) != "are you there" || err != nil {
		t.Errorf("answer to a ping = %v %q %v, want a pong", op, got, err)
	}
	if got := wait(t, g.conns).Transport(); got != "websocket" {
		t.Errorf("Transport() = %q", got)
	}
}

func TestWebsocketMistakesClose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		op     engine.Opcode
		data   string
		reason engine.Reason
		code   string
	}{
		{"unknown type", engine.OpText, "abc", engine.ReasonParseError, "\x03\xea"},
		{"empty", engine.OpText, "", engine.ReasonParseError, "\x03\xea"},
		{"ping from the client", engine.OpText, "2", engine.ReasonParseError, "\x03\xea"},
		{"handler refuses", engine.OpText, "4bad", engine.ReasonParseError, "\x03\xea"},
		{"not UTF-8", engine.OpText, "4\xff", engine.ReasonTransportError, "\x03\xef"},
		{"unknown opcode", 5, "x", engine.ReasonTransportError, "\x03\xea"},
		{"close packet", engine.OpText, "1", engine.ReasonTransportClose, "\x03\xe8"},
		{"close frame", engine.OpClose, "\x03\xe8", engine.ReasonTransportClose, "\x03\xe8"},
		{"empty close frame", engine.OpClose, "", engine.ReasonTransportClose, "\x03\xe8"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := start(t, engine.Config{})
			c := g.dial("")
			if err := c.SendFrame(tt.op, []byte(tt.data)); err != nil {
				t.Fatal(err)
			}
			if op, got, err := c.Next(); op != engine.OpClose || string(got) != tt.code || err != nil {
				t.Errorf("answer = %v %x %v, want close %x", op, got, err, tt.code)
			}
			g.ended(tt.reason)
		})
	}
	g := start(t, engine.Config{MaxPayload: 1000})
	c := g.dial("")
	send(t, c, "4"+strings.Repeat("x", 1000))
	g.ended(engine.ReasonTransportError)
	gone(t, c)
}

func TestWebsocketPing(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{PingInterval: 20 * time.Millisecond, PingTimeout: 5 * time.Second})
	c := g.dial("")
	for range 3 {
		if _, got, err := c.Next(); string(got) != "2" || err != nil {
			t.Fatalf("got %q, %v, want a ping", got, err)
		}
		send(t, c, "3")
	}
	send(t, c, "4alive")
	expect(t, c, "4alive")

	g = start(t, engine.Config{PingInterval: 20 * time.Millisecond, PingTimeout: 20 * time.Millisecond})
	c = g.dial("")
	send(t, c, "3", "3") // an answer nobody asked for gains no time
	g.ended(engine.ReasonPingTimeout)
	gone(t, c)
}

func TestServerClosesWebsocket(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	c := g.dial("")
	send(t, c, "4close", "4ignored", "4ignored")
	expect(t, c, "4bye")
	if op, _, err := c.Next(); op != engine.OpClose || err != nil {
		t.Errorf("got %v, %v, want a close frame", op, err)
	}
	if err := c.SendFrame(engine.OpClose, []byte("\x03\xe8")); err != nil {
		t.Fatal(err)
	}
	g.ended(engine.ReasonForced)
	if _, _, err := c.Next(); err == nil {
		t.Error("something came after the close frame")
	}
}

func TestUpgrade(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid := g.poll()
	conn := wait(t, g.conns)
	waiting := g.later(sid)
	until(t, "the poll waits", func() bool { return engine.Polls(conn) })
	c := g.dial(sid[len("EIO=4&transport=polling&"):])
	send(t, c, "2probe")
	expect(t, c, "3probe")
	if a := wait(t, waiting); a.body != "6" {
		t.Errorf("waiting poll = %v, want a noop", a)
	}
	g.want("POST", sid, "4still polling", 200, "ok")
	g.want("GET", sid, "", 200, "4still polling")
	g.want("POST", sid, "4queued", 200, "ok")
	send(t, c, "5")
	expect(t, c, "4queued")
	send(t, c, "4hello")
	expect(t, c, "4hello")
	g.want("GET", sid, "", 400, `{"code":3,"message":"Bad request"}`)
	g.want("POST", sid, "4x", 400, `{"code":3,"message":"Bad request"}`)
	gone(t, g.dial(sid[len("EIO=4&transport=polling&"):]))
	send(t, c, "4and on")
	expect(t, c, "4and on")
}

func TestUpgradeOvertakesPoll(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid := g.poll()
	conn := wait(t, g.conns)
	waiting := g.later(sid)
	until(t, "the poll waits", func() bool { return engine.Polls(conn) })
	c := g.dial(sid[len("EIO=4&transport=polling&"):])
	send(t, c, "2probe", "5", "4hello")
	expect(t, c, "3probe")
	expect(t, c, "4hello")
	if a := wait(t, waiting); a.status != 400 && a.body != "6" {
		t.Errorf("waiting poll = %v, want 400, or a noop if it was quicker", a)
	}
}

func TestFailedUpgradeLeavesPolling(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		do   func(c *clienttest.Client) error
	}{
		{"no probe", func(c *clienttest.Client) error { return c.Send("4hello") }},
		{"upgrade without probe", func(c *clienttest.Client) error { return c.Send("5") }},
		{"binary", func(c *clienttest.Client) error { return c.SendFrame(engine.OpBinary, []byte("x")) }},
		{"garbage", func(c *clienttest.Client) error { return c.SendRaw([]byte("garbage")) }},
		{"cut", func(c *clienttest.Client) error { return c.Cut() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := start(t, engine.Config{})
			sid := g.poll()
			c := g.dial(sid[len("EIO=4&transport=polling&"):])
			if err := tt.do(c); err != nil {
				t.Fatal(err)
			}
			if tt.name != "cut" {
				gone(t, c)
			}
			g.want("POST", sid, "4still here", 200, "ok")
			g.want("GET", sid, "", 200, "4still here")
			until(t, "another upgrade works", func() bool {
				again := g.dial(sid[len("EIO=4&transport=polling&"):])
				_ = again.Send("2probe") // it may be closed already
				got, err := again.Text()
				return err == nil && got == "3probe"
			})
		})
	}
}

func TestCloseDuringUpgrade(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid := g.poll()
	c := g.dial(sid[len("EIO=4&transport=polling&"):])
	send(t, c, "2probe")
	expect(t, c, "3probe")
	g.want("POST", sid, "1", 200, "ok")
	g.ended(engine.ReasonTransportClose)
	gone(t, c)
}

func TestSlowConsumerIsClosed(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{QueueBytes: 64 << 10, BurstBytes: 1})
	g.dial("") // which never reads again
	conn := wait(t, g.conns)
	packet := engine.Text(bytes.Repeat([]byte("x"), 10_000))
	var err error
	for sent := 0; err == nil && sent < 10_000; sent++ {
		err = conn.Send(packet)
		if waiting := engine.Waiting(conn); waiting > 64<<10+2*10_100 {
			t.Fatalf("%d bytes wait, want at most the limit and a packet", waiting)
		}
	}
	if !errors.Is(err, engine.ErrSlow) {
		t.Fatalf("Send() error = %v, want ErrSlow", err)
	}
	g.ended(engine.ReasonSlow)
	if err := conn.Send(packet); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Send() after the end = %v, want ErrClosed", err)
	}
	g.poll()
	idle := wait(t, g.conns)
	for err = nil; err == nil; {
		err = idle.Send(engine.Text([]byte("x")))
	}
	g.ended(engine.ReasonSlow) // the same on polling
	until(t, "nothing is counted any more", func() bool { return g.server.TotalWaiting() == 0 })
}

func TestBursts(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{QueueBytes: 10_000, BurstBytes: 200_000})
	packet := engine.Text(make([]byte, 40_000))
	g.poll()
	idle := wait(t, g.conns)
	for range 4 { // it has no poll yet, but the server has room
		if err := idle.Send(packet); err != nil {
			t.Fatalf("Send() with room = %v", err)
		}
	}
	if err := idle.Send(packet); !errors.Is(err, engine.ErrSlow) {
		t.Errorf("Send() over sixteen times the bound = %v, want ErrSlow", err)
	}
	var first, second *engine.Conn
	g.poll()
	first = wait(t, g.conns)
	g.poll()
	second = wait(t, g.conns)
	for _, c := range []*engine.Conn{first, first, first, second, second} {
		if err := c.Send(packet); err != nil {
			t.Fatalf("Send() with room = %v", err)
		}
	}
	if err := second.Send(packet); !errors.Is(err, engine.ErrSlow) {
		t.Errorf("Send() over the bound of the server = %v, want ErrSlow", err)
	}
	if err := first.Send(packet); err != nil {
		t.Errorf("Send() once there is room again = %v", err)
	}
	first.Close()
	second.Close()
}

// When many are slow, each may hold little.
func TestCrowdOfSlowClients(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{QueueBytes: 16_000, BurstBytes: 20_000})
	packet := engine.Text(make([]byte, 9_000)) // within the bounds of a client
	var slow []*engine.Conn
	for range 5 {
		g.poll() // and never again
		c := wait(t, g.conns)
		if err := c.Send(packet); err != nil {
			t.Fatalf("Send() = %v", err)
		}
		slow = append(slow, c)
	}
	g.poll()
	fresh := wait(t, g.conns)
	if err := fresh.Send(engine.Text([]byte("x"))); err != nil {
		t.Errorf("Send() to a client that holds nothing = %v", err)
	}
	if err := slow[0].Send(engine.Text([]byte("x"))); !errors.Is(err, engine.ErrSlow) {
		t.Errorf("Send() to one of a crowd = %v, want ErrSlow", err)
	}
	if err := slow[1].Send(engine.Text([]byte("x"))); err != nil {
		t.Errorf("Send() once the crowd is smaller = %v", err)
	}
	for _, c := range append(slow, fresh) {
		c.Close()
	}
}

func TestPongsDoNotHideAStall(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{PingInterval: 30 * time.Millisecond, PingTimeout: time.Minute, QueueBytes: 1 << 30})
	c := g.dial("")
	conn := wait(t, g.conns)
	packet := engine.Text(bytes.Repeat([]byte("x"), 1<<20))
	for range 40 { // more than the buffers between us hold
		if err := conn.Send(packet); err != nil {
			t.Fatal(err)
		}
	}
	until(t, "the server gives up on it", func() bool {
		_ = c.Send("3") // an answer to pings it has not read
		return g.server.Len() == 0
	})
	g.ended(engine.ReasonSlow)
}

func TestSendFromMany(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	c := g.dial("")
	conn := wait(t, g.conns)
	const senders, each = 8, 200
	var all sync.WaitGroup
	for range senders {
		all.Go(func() {
			for range each {
				if err := conn.Send(engine.Text([]byte("a")), engine.Binary([]byte("b")), engine.Text([]byte("c"))); err != nil {
					t.Errorf("Send() error = %v", err)
					return
				}
			}
		})
	}
	for range senders * each {
		for _, want := range []string{"4a", "b", "4c"} {
			if _, got, err := c.Next(); err != nil || string(got) != want {
				t.Fatalf("got %q, %v, want %q", got, err, want)
			}
		}
	}
	all.Wait()
}

func TestShutdownLetsClientsReconnect(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid, c := g.poll(), g.dial("")
	conn := wait(t, g.conns)
	waiting := g.later(sid)
	until(t, "the poll waits", func() bool { return engine.Polls(conn) })
	done := make(chan error, 1)
	go func() { done <- g.server.Shutdown(t.Context()) }()
	if op, data, err := c.Next(); op != engine.OpClose || string(data) != "\x03\xe9" || err != nil {
		t.Errorf("websocket got %v %x %v, want close 1001", op, data, err)
	}
	if err := c.SendFrame(engine.OpClose, []byte("\x03\xe9")); err != nil {
		t.Fatal(err)
	}
	if a := wait(t, waiting); a.body != "1" {
		t.Errorf("waiting poll = %v, want a close packet", a)
	}
	if err := wait(t, done); err != nil {
		t.Errorf("Shutdown() error = %v", err)
	}
	g.ended(engine.ReasonShutdown)
	g.ended(engine.ReasonShutdown)
	g.want("GET", eio, "", 503, "")
}

func TestShutdownCutsWhoDoesNotClose(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	c := g.dial("")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := g.server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown() error = %v, want the deadline", err)
	}
	g.ended(engine.ReasonShutdown)
	gone(t, c)
}

func TestNoGoroutineStays(t *testing.T) {
	g := start(t, engine.Config{})
	before := runtime.NumGoroutine()
	var clients []*clienttest.Client
	for range 50 {
		c := g.dial("")
		send(t, c, "4x")
		expect(t, c, "4x")
		clients = append(clients, c)
	}
	for i, c := range clients {
		if i%2 == 0 {
			_ = c.Cut()
		} else {
			_ = c.Close()
		}
	}
	until(t, "all connections are closed", func() bool { return g.server.Len() == 0 })
	until(t, "their goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}
