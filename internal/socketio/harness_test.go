package socketio_test

import (
	"context"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
)

const patience = 10 * time.Second

// none is the auth of a client that has none to give.
var none = struct{}{}

// serve starts a server on a real port.
func serve(t testing.TB, cfg socketio.Config) (*socketio.Server, string) {
	t.Helper()
	s := socketio.New(cfg)
	web := httptest.NewServer(s)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := s.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown() error = %v", err)
		}
		web.Close()
	})
	return s, web.URL + "/socket.io/"
}

// admitting serves with an OnConnect that hands its sockets to the test.
func admitting(t testing.TB, cfg socketio.Config, f func(s *socketio.Socket)) (*socketio.Server, string, <-chan *socketio.Socket) {
	t.Helper()
	server, url := serve(t, cfg)
	sockets := make(chan *socketio.Socket, 10_000)
	server.Of("/").OnConnect(func(_ context.Context, s *socketio.Socket, _ socketio.Handshake) error {
		if f != nil {
			f(s)
		}
		sockets <- s
		return nil
	})
	return server, url, sockets
}

func join(t testing.TB, url string, auth any) *clienttest.Client {
	t.Helper()
	c, err := clienttest.Join(t.Context(), url, auth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cut() })
	return c
}

func dial(t testing.TB, url string) *clienttest.Client {
	t.Helper()
	c, err := clienttest.Dial(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cut() })
	if text, err := c.Text(); err != nil || !strings.HasPrefix(text, "0{") {
		t.Fatalf("open packet = %q, %v", text, err)
	}
	return c
}

func send(t testing.TB, c *clienttest.Client, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := c.Send(text); err != nil {
			t.Fatalf("send %q: %v", text, err)
		}
	}
}

func expect(t testing.TB, c *clienttest.Client, wants ...string) {
	t.Helper()
	for _, want := range wants {
		got, err := c.Text()
		if prefix, ok := strings.CutSuffix(want, "…"); err != nil || got != want && !(ok && strings.HasPrefix(got, prefix)) {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
	}
}

// gone wants the connection to end, past anything but events.
func gone(t testing.TB, c *clienttest.Client) {
	t.Helper()
	text, err := c.Text()
	if err == nil || strings.Contains(err.Error(), "timeout") {
		t.Errorf("got %q, %v, want the end of the connection", text, err)
	}
}

func wait[T any](t testing.TB, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

// until polls a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}
