package socketio_test

import (
	"context"
	"errors"
	"net/http"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

func TestHandshake(t *testing.T) {
	t.Parallel()
	server, url := serve(t, socketio.Config{Attach: func(r *http.Request) any { return r.Header.Get("User-Agent") }})
	seen := make(chan socketio.Handshake, 2)
	server.Of("/admin").OnConnect(func(_ context.Context, s *socketio.Socket, h socketio.Handshake) error {
		seen <- h
		if s.Namespace() != "/admin" || s.ID() == "" {
			t.Errorf("socket %q in %q", s.ID(), s.Namespace())
		}
		return nil
	})
	c, err := clienttest.Dial(t.Context(), url+"?sessionId=a%20b", http.Header{"User-Agent": {"test"}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Cut()
	expect(t, c, "0{…")
	send(t, c, `40/admin,{"token":"x"}`)
	expect(t, c, `40/admin,{"sid":"…`)
	h := wait(t, seen)
	if h.Namespace != "/admin" || string(h.Auth) != `{"token":"x"}` || h.Query.Get("sessionId") != "a b" || h.Attached != "test" || h.RemoteAddr == "" {
		t.Errorf("handshake = %+v", h)
	}
	send(t, c, "41/admin", "40/admin,")
	expect(t, c, `40/admin,{"sid":"…`)
	if h := wait(t, seen); string(h.Auth) != "{}" {
		t.Errorf("Auth without any = %s, want {}", h.Auth)
	}
}

func TestRefusalIsConnectThenDisconnect(t *testing.T) {
	t.Parallel()
	server, url := serve(t, socketio.Config{})
	disconnected := make(chan struct{}, 1)
	server.Of("/").OnConnect(func(_ context.Context, s *socketio.Socket, _ socketio.Handshake) error {
		s.OnDisconnect(func(socketio.Reason) { disconnected <- struct{}{} })
		s.On("x", func(context.Context, *socketio.Event) { t.Error("an event of a refused client was handled") })
		s.Join("room")
		if err := s.Emit("exception", "no"); err != nil {
			t.Error(err)
		}
		return errors.New("no")
	})
	c := dial(t, url)
	send(t, c, "40", `42["x"]`)
	expect(t, c, `40{"sid":"…`, `42["exception","no"]`, "41")
	// What was under way is no mistake, and another try is possible.
	send(t, c, `42["x"]`, `451-["x",{"_placeholder":true,"num":0}]`)
	if err := c.SendFrame(2, []byte{1}); err != nil {
		t.Fatal(err)
	}
	send(t, c, "41", "40")
	expect(t, c, `40{"sid":"…`, `42["exception","no"]`, "41")
	until(t, "nothing is left of it", func() bool { return server.Live() == 0 })
	if n, err := server.To("room").Count(t.Context()); n != 0 || err != nil {
		t.Errorf("Count() = %d, %v, want 0", n, err)
	}
	select {
	case <-disconnected:
		t.Error("OnDisconnect ran for a client that was never let in")
	default:
	}
}

func TestEventsWaitForValidation(t *testing.T) {
	t.Parallel()
	server, url := serve(t, socketio.Config{InboxEvents: 4})
	release := make(chan struct{})
	server.Of("/").OnConnect(func(ctx context.Context, s *socketio.Socket, _ socketio.Handshake) error {
		<-release
		s.On("n", func(_ context.Context, e *socketio.Event) {
			if err := s.Emit("seen", e.Args[0]); err != nil {
				t.Error(err)
			}
		})
		return s.Emit("connected")
	})
	c := dial(t, url)
	send(t, c, "40")
	expect(t, c, "40{…")
	for i := range 20 { // more than the inbox holds: the rest waits outside
		send(t, c, `42["n",`+strconv.Itoa(i)+`]`)
	}
	close(release)
	expect(t, c, `42["connected"]`)
	for i := range 20 {
		expect(t, c, `42["seen",`+strconv.Itoa(i)+`]`)
	}
}

func TestClientLeavesDuringValidation(t *testing.T) {
	t.Parallel()
	server, url := serve(t, socketio.Config{})
	asked, ended := make(chan struct{}, 2), make(chan error, 2)
	left := make(chan socketio.Reason, 2)
	server.Of("/").OnConnect(func(ctx context.Context, s *socketio.Socket, _ socketio.Handshake) error {
		s.OnDisconnect(func(r socketio.Reason) { left <- r })
		asked <- struct{}{}
		<-ctx.Done()
		s.Join("room")
		ended <- ctx.Err()
		return nil
	})
	c := dial(t, url)
	send(t, c, "40")
	wait(t, asked)
	send(t, c, "41")
	wait(t, ended)
	if r := wait(t, left); r != socketio.ReasonClient {
		t.Errorf("reason = %q", r)
	}
	send(t, c, "40")
	wait(t, asked)
	_ = c.Cut()
	wait(t, ended)
	if r := wait(t, left); r != engine.ReasonTransportClose && r != engine.ReasonTransportError {
		t.Errorf("reason = %q", r) // which one depends on what was being written
	}
	until(t, "nothing is left of it", func() bool { return server.Live() == 0 })
	if n, _ := server.To("room").Count(t.Context()); n != 0 {
		t.Errorf("%d sockets in a room they joined after they left", n)
	}
}

func TestConnectTimeouts(t *testing.T) {
	t.Parallel()
	server, url := serve(t, socketio.Config{ConnectTimeout: 50 * time.Millisecond})
	gone(t, dial(t, url)) // never connects
	server.Of("/").OnConnect(func(ctx context.Context, _ *socketio.Socket, _ socketio.Handshake) error {
		<-ctx.Done()
		return nil
	})
	c := dial(t, url)
	send(t, c, "40")
	expect(t, c, "40{…", "41") // too slow is refused
	gone(t, c)                 // and then it is idle
}

func TestMistakesClose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		texts []string
	}{
		{"unknown type", []string{"4abc"}},
		{"event before connect", []string{`42["x"]`}},
		{"disconnect before connect", []string{"41"}},
		{"ack before connect", []string{"431[]"}},
		{"binary before connect", []string{`451-["x",{"_placeholder":true,"num":0}]`}},
		{"event of another namespace", []string{"40", `42/custom,["x"]`}},
		{"connect twice", []string{"40", "40"}},
		{"no array", []string{"40", "42{}"}},
		{"bad ack id", []string{"40", `42abc["x"]`}},
		{"reserved event", []string{"40", `42["disconnect"]`}},
		{"connect error from the client", []string{"40", `44{"message":"x"}`}},
		{"text instead of binary", []string{"40", `451-["x",{"_placeholder":true,"num":0}]`, `42["x"]`}},
		{"event after leaving", []string{"40", "41", `42["x"]`}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			server, url := serve(t, socketio.Config{})
			server.Of("/custom")
			c := dial(t, url)
			send(t, c, tt.texts...)
			for {
				text, err := c.Text()
				if err == nil && strings.HasPrefix(text, "40{") {
					continue
				}
				if err == nil || strings.Contains(err.Error(), "timeout") {
					t.Errorf("got %q, %v, want the end", text, err)
				}
				break
			}
			until(t, "the connection is forgotten", func() bool { return server.Conns() == 0 && server.Live() == 0 })
		})
	}
}

func TestBinaryMistakesClose(t *testing.T) {
	t.Parallel()
	big := make([]byte, 900)
	for _, tt := range []struct {
		name   string
		text   string
		binary [][]byte
	}{
		{"binary out of the blue", "", [][]byte{{1}}},
		{"placeholder out of range", `451-["x",{"_placeholder":true,"num":1}]`, [][]byte{{1}}},
		{"too much in one packet", `453-["x"]`, [][]byte{big, big, big}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, url := serve(t, socketio.Config{Engine: engine.Config{MaxPayload: 1000}})
			c := join(t, url, none)
			if tt.text != "" {
				send(t, c, tt.text)
			}
			for _, b := range tt.binary {
				_ = c.SendFrame(2, b) // the server may have closed already
			}
			gone(t, c)
		})
	}
}

// nil2 is the auth of a client that has none to give.

func TestUnknownNamespace(t *testing.T) {
	t.Parallel()
	_, url := serve(t, socketio.Config{})
	c := dial(t, url)
	send(t, c, "40/random", `40/other,{"a":1}`, "40")
	expect(t, c, `44/random,{"message":"Invalid namespace"}`, `44/other,{"message":"Invalid namespace"}`, `40{"sid":"…`)
}

func TestConnectLoopIsBounded(t *testing.T) {
	t.Parallel()
	server, url := serve(t, socketio.Config{})
	release := make(chan struct{})
	defer close(release)
	asked := make(chan struct{}, 100)
	server.Of("/").OnConnect(func(context.Context, *socketio.Socket, socketio.Handshake) error {
		asked <- struct{}{}
		<-release // deaf to its context
		return nil
	})
	c := dial(t, url)
	for range 20 {
		_ = c.Send("40") // the server closes after a few
		_ = c.Send("41")
	}
	until(t, "the connection is closed", func() bool { return server.Conns() == 0 })
	if n := len(asked); n > 4 {
		t.Errorf("%d OnConnect run for one connection, want at most 4", n)
	}
}

func TestNoGoroutineStays(t *testing.T) {
	server, url, sockets := admitting(t, socketio.Config{}, func(s *socketio.Socket) {
		s.On("echo", func(_ context.Context, e *socketio.Event) { _ = e.Ack(e.Values()...) })
	})
	before := runtime.NumGoroutine()
	var clients []*clienttest.Client
	for range 50 {
		c := join(t, url, none)
		wait(t, sockets)
		send(t, c, `421["echo",1]`)
		expect(t, c, "431[1]")
		clients = append(clients, c)
	}
	for i, c := range clients {
		if i%2 == 0 {
			_ = c.Cut()
		} else {
			_ = c.Close()
		}
	}
	until(t, "all connections are closed", func() bool { return server.Conns() == 0 && server.Live() == 0 })
	until(t, "their goroutines have ended", func() bool { return runtime.NumGoroutine() <= before })
}

// Who is disconnected may connect again in the moment they hear of it, however
// long the socket takes to leave.
func TestConnectAgainAtOnce(t *testing.T) {
	t.Parallel()
	server, url := serve(t, socketio.Config{})
	server.Of("/").OnConnect(func(context.Context, *socketio.Socket, socketio.Handshake) error { return errors.New("no") })
	release := sync.OnceFunc(server.Of("/").Hold())
	defer release()
	c := dial(t, url)
	send(t, c, "40")
	expect(t, c, `40{"sid":"…`, "41")
	send(t, c, "40")
	expect(t, c, `40{"sid":"…`)
	release()
	expect(t, c, "41")
}
