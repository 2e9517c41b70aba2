package socketio_test

import (
	"bytes"
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

func TestEvents(t *testing.T) {
	t.Parallel()
	_, url, _ := admitting(t, socketio.Config{}, func(s *socketio.Socket) {
		s.On("echo", func(_ context.Context, e *socketio.Event) {
			if err := s.Emit("back", e.Values()...); err != nil {
				t.Error(err)
			}
			for range 2 { // the second is not sent
				if err := e.Ack(len(e.Args), e.WantsAck()); err != nil {
					t.Error(err)
				}
			}
		})
		s.OnOther(func(_ context.Context, e *socketio.Event) {
			if err := e.Ack(e.Name, "unknown"); err != nil {
				t.Error(err)
			}
		})
	})
	c := join(t, url, none)
	send(t, c, `42["echo",1,"<é>",{"z":1,"a":2}]`)
	expect(t, c, `42["back",1,"<é>",{"z":1,"a":2}]`)
	send(t, c, `427["echo"]`)
	expect(t, c, `42["back"]`, "437[0,true]")
	send(t, c, `428["what",1]`)
	expect(t, c, `438["what","unknown"]`)
}

func TestBinaryEvents(t *testing.T) {
	t.Parallel()
	_, url, _ := admitting(t, socketio.Config{}, func(s *socketio.Socket) {
		s.On("echo", func(_ context.Context, e *socketio.Event) {
			if err := e.Ack(e.Values()...); err != nil {
				t.Error(err)
			}
		})
	})
	c := join(t, url, none)
	send(t, c, `452-3["echo",{"x":[{"_placeholder":true,"num":1}]},{"_placeholder":true,"num":0}]`)
	for _, b := range []string{"first", "second"} {
		if err := c.SendFrame(engine.OpBinary, []byte(b)); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, c, `462-3[{"x":[{"_placeholder":true,"num":0}]},{"_placeholder":true,"num":1}]`)
	for _, want := range []string{"second", "first"} {
		if got, err := c.Binary(); err != nil || string(got) != want {
			t.Errorf("attachment = %q, %v, want %q", got, err, want)
		}
	}
}

func TestCall(t *testing.T) {
	t.Parallel()
	_, url, sockets := admitting(t, socketio.Config{}, nil)
	c := join(t, url, none)
	s := wait(t, sockets)
	type result struct {
		e   *socketio.Event
		err error
	}
	call := func(ctx context.Context) <-chan result {
		out := make(chan result, 1)
		go func() {
			e, err := s.Call(ctx, "question", 42, socketio.Binary("b"))
			out <- result{e, err}
		}()
		return out
	}
	first := call(t.Context())
	expect(t, c, `451-0["question",42,{"_placeholder":true,"num":0}]`)
	send(t, c, "43999[1]") // nobody asked
	send(t, c, `461-0["yes",{"_placeholder":true,"num":0}]`)
	if err := c.SendFrame(engine.OpBinary, []byte("raw")); err != nil {
		t.Fatal(err)
	}
	got := wait(t, first)
	if got.err != nil || got.e.Name != "question" || string(got.e.Args[0]) != `"yes"` || !bytes.Equal(got.e.Values()[1].(socketio.Binary), []byte("raw")) {
		t.Errorf("Call() = %+v, %v", got.e, got.err)
	}
	short, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if got := wait(t, call(short)); !errors.Is(got.err, context.DeadlineExceeded) {
		t.Errorf("Call() without an answer = %v, want the deadline", got.err)
	}
	send(t, c, "431[]") // too late
	open := call(t.Context())
	expect(t, c, `451-1["question",…`, `451-2["question",…`)
	_ = c.Cut()
	if got := wait(t, open); !errors.Is(got.err, socketio.ErrDisconnected) {
		t.Errorf("Call() of a client that leaves = %v, want ErrDisconnected", got.err)
	}
	if err := s.Emit("x"); !errors.Is(err, socketio.ErrDisconnected) {
		t.Errorf("Emit() after the end = %v, want ErrDisconnected", err)
	}
}

func TestRooms(t *testing.T) {
	t.Parallel()
	server, url, sockets := admitting(t, socketio.Config{}, nil)
	a, b := join(t, url, none), join(t, url, none)
	sa, sb := wait(t, sockets), wait(t, sockets)
	send(t, a, `42["sync"]`)
	if sa.ID() == sb.ID() {
		t.Fatal("two sockets with one id")
	}
	// Which client came first is open; ask the sockets.
	if err := sa.Emit("you"); err != nil {
		t.Fatal(err)
	}
	if err := sb.Emit("other"); err != nil {
		t.Fatal(err)
	}
	text, err := a.Text()
	if err == nil {
		_, err = b.Text()
	}
	if err != nil {
		t.Fatal(err)
	}
	if text == `42["other"]` {
		a, b = b, a
	}
	until(t, "both are let in", func() bool {
		n, _ := server.Of("/").Everyone().Count(t.Context())
		return n == 2
	})
	sa.Join("red", "blue", "red")
	sb.Join("red", "green")
	ctx := t.Context()
	emit := func(to socketio.Target, what string) {
		if err := to.Emit(ctx, what); err != nil {
			t.Error(err)
		}
	}
	emit(server.To("red"), "1")
	emit(server.To("red", "blue", "green"), "2") // once each
	emit(server.To("blue"), "3")
	emit(server.To(sb.ID()), "4")
	emit(server.To("red").Except(sa.ID()), "5")
	emit(server.To("red").Except("green", "none"), "6")
	emit(server.To(), "nobody")
	emit(server.Of("/").Everyone(), "7")
	sa.Leave("red", "never joined")
	emit(server.To("red"), "8")
	emit(server.To("void"), "nobody")
	emit(server.To(sa.ID(), sa.ID(), "blue"), "9")
	expect(t, a, `42["1"]`, `42["2"]`, `42["3"]`, `42["6"]`, `42["7"]`, `42["9"]`)
	expect(t, b, `42["1"]`, `42["2"]`, `42["4"]`, `42["5"]`, `42["7"]`, `42["8"]`)
	if got := strings.Join(sa.Rooms(), " "); got != "blue" {
		t.Errorf("Rooms() = %q, want blue", got)
	}
	_ = b.Cut()
	until(t, "the room is empty", func() bool {
		n, err := server.To("red", "green").Count(ctx)
		return n == 0 && err == nil
	})
}

func TestDisconnectRoom(t *testing.T) {
	t.Parallel()
	left := make(chan socketio.Reason, 3)
	server, url, sockets := admitting(t, socketio.Config{}, func(s *socketio.Socket) {
		s.Join("session")
		s.OnDisconnect(func(r socketio.Reason) { left <- r })
	})
	a, b := join(t, url, none), join(t, url, none)
	wait(t, sockets)
	wait(t, sockets)
	if err := server.DisconnectRoom(t.Context(), "session"); err != nil {
		t.Fatal(err)
	}
	expect(t, a, "41")
	expect(t, b, "41")
	for range 2 {
		if r := wait(t, left); r != socketio.ReasonServer {
			t.Errorf("reason = %q", r)
		}
	}
	send(t, a, "40") // it may come back on the same connection
	expect(t, a, `40{"sid":"…`)
	wait(t, sockets).Close()
	expect(t, a, "41")
	gone(t, a)
}

func TestNamespacesAreApart(t *testing.T) {
	t.Parallel()
	server, url, mains := admitting(t, socketio.Config{}, func(s *socketio.Socket) { s.Join("x") })
	others := make(chan *socketio.Socket, 1)
	server.Of("/other").OnConnect(func(_ context.Context, s *socketio.Socket, _ socketio.Handshake) error {
		s.Join("x")
		others <- s
		return nil
	})
	c := dial(t, url)
	send(t, c, "40", "40/other,")
	expect(t, c, "40…", "40…")
	one, two := wait(t, mains), wait(t, others)
	if err := server.Of("/other").To("x").Emit(t.Context(), "hi", one.Namespace()); err != nil {
		t.Fatal(err)
	}
	expect(t, c, `42/other,["hi","/"]`)
	two.Disconnect()
	expect(t, c, "41/other,")
	if err := server.To("x").Emit(t.Context(), "still"); err != nil {
		t.Fatal(err)
	}
	expect(t, c, `42["still"]`)
	one.Close()
	expect(t, c, "41")
	gone(t, c)
}

func TestEventsBeforeTheEndAreHandled(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var seen []string
	done := make(chan struct{})
	release := make(chan struct{})
	_, url, _ := admitting(t, socketio.Config{}, func(s *socketio.Socket) {
		s.On("n", func(ctx context.Context, e *socketio.Event) {
			<-release
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(e.Args[0]))
			if ctx.Err() != nil {
				t.Error("the context ended with the client")
			}
		})
		s.OnDisconnect(func(socketio.Reason) { panic("the next one runs all the same") })
		s.OnDisconnect(func(r socketio.Reason) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, string(r))
			close(done)
		})
	})
	c := join(t, url, none)
	send(t, c, `42["n",1]`, `42["n",2]`, `42["n",3]`, "41")
	_ = c.Cut()
	close(release)
	wait(t, done)
	mu.Lock()
	defer mu.Unlock()
	if got, want := strings.Join(seen, " "), "1 2 3 "+string(socketio.ReasonClient); got != want {
		t.Errorf("handled %q, want %q", got, want)
	}
}

func TestFullInboxHoldsTheClient(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	_, url, sockets := admitting(t, socketio.Config{InboxEvents: 8}, func(s *socketio.Socket) {
		s.On("n", func(_ context.Context, e *socketio.Event) {
			<-release
			if err := s.Emit("n", e.Args[0]); err != nil {
				t.Error(err)
			}
		})
	})
	c := join(t, url, none)
	s := wait(t, sockets)
	for i := range 100 {
		send(t, c, `42["n",`+strconv.Itoa(i)+`]`)
	}
	until(t, "the inbox is full", func() bool { return s.Inbox() == 8 })
	close(release)
	for i := range 100 {
		expect(t, c, `42["n",`+strconv.Itoa(i)+`]`)
	}
}

func TestPanicsAreReported(t *testing.T) {
	t.Parallel()
	panics := make(chan string, 2)
	server, url := serve(t, socketio.Config{OnPanic: func(s *socketio.Socket, event string, v any) {
		panics <- event + ": " + v.(string)
		_ = s.Emit("exception", event)
	}})
	server.Of("/").OnConnect(func(_ context.Context, s *socketio.Socket, h socketio.Handshake) error {
		if h.Query.Has("bad") {
			panic("connect")
		}
		s.On("bad", func(context.Context, *socketio.Event) { panic("event") })
		return nil
	})
	c := join(t, url, none)
	send(t, c, `42["bad"]`, `42["bad"]`)
	for range 2 { // it goes on
		expect(t, c, `42["exception","bad"]`)
		if got := wait(t, panics); got != "bad: event" {
			t.Errorf("OnPanic got %q", got)
		}
	}
	c = join(t, url+"?bad=1", none)
	expect(t, c, `42["exception",""]`, "41")
}

func TestShutdown(t *testing.T) {
	t.Parallel()
	left, ended := make(chan socketio.Reason, 1), make(chan error, 1)
	started := make(chan struct{})
	server, url, _ := admitting(t, socketio.Config{}, func(s *socketio.Socket) {
		s.OnDisconnect(func(r socketio.Reason) { left <- r })
		s.On("work", func(ctx context.Context, _ *socketio.Event) {
			close(started)
			<-ctx.Done()
			ended <- ctx.Err()
		})
	})
	c := join(t, url, none)
	send(t, c, `42["work"]`)
	wait(t, started)
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown() error = %v, want the deadline", err)
	}
	if op, data, err := c.Next(); op != engine.OpClose || string(data) != "\x03\xe9" || err != nil {
		t.Errorf("client got %v %x %v, want close 1001 and no 41", op, data, err)
	}
	wait(t, ended)
	if r := wait(t, left); r != engine.ReasonShutdown {
		t.Errorf("reason = %q", r)
	}
}

func TestDataAndDone(t *testing.T) {
	t.Parallel()
	_, url, sockets := admitting(t, socketio.Config{}, func(s *socketio.Socket) { s.SetData("me") })
	c := join(t, url, none)
	s := wait(t, sockets)
	if s.Data() != "me" {
		t.Errorf("Data() = %v", s.Data())
	}
	_ = c.Close()
	wait(t, s.Done())
}
