package socket_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// TestHandshake: every client gets its CONNECT acknowledged; who may not stay is
// disconnected afterwards.
func TestHandshake(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for _, tt := range []struct {
		name    string
		session string
		auth    any
		told    string // "" is let in
	}{
		{"invocation", hers, members{"invocation": "alice"}, ""},
		{"delegation alone", hers, members{"ucanDelegation": "alice"}, ""},
		{"both", hers, members{"invocation": "alice", "ucanDelegation": "anything"}, ""},
		{"more in auth", hers, members{"invocation": "alice", "x": []int{1}}, ""},
		{"no session", "", members{"invocation": "alice"}, "sessionId is missing"},
		{"long session", strings.Repeat("$", 300), members{"invocation": "alice"}, "sessionId is missing"},
		{"no token", hers, members{}, "Missing UCAN"},
		{"bad invocation", hers, members{"invocation": "mallory"}, "Invalid UCAN invocation"},
		{"bad invocation beside a good delegation", hers, members{"invocation": "mallory", "ucanDelegation": "alice"}, "Invalid UCAN invocation"},
		{"bad delegation", hers, members{"ucanDelegation": "mallory"}, "Missing UCAN"},
		{"token is no text", hers, members{"invocation": 7}, "Invalid UCAN invocation"},
		{"unknown session", "$nobody", members{"invocation": "alice"}, "Session not found"},
		{"somebody else's session", his, members{"invocation": "alice"}, "Session not found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := r.dial(t, tt.session, tt.auth)
			if tt.told == "" {
				p.event("connected")
				return
			}
			told := p.refused()
			if len(told) != 1 || !strings.HasPrefix(told[0], `42["exception",{"status":"error"`) || !strings.Contains(told[0], tt.told) {
				t.Errorf("told %q, want one exception with %q", told, tt.told)
			}
		})
	}
}

// TestNothingBeforeValidation: what a client sends before its tokens are checked
// waits, and is lost when they are bad (oracle-wire.md 10.6).
func TestNothingBeforeValidation(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	first := r.join(t, hers, "alice")
	out := r.asking(t, alice, hers, action("buy"), `{}`)
	id := first.event("action_call")["toolCallId"]
	gate := make(chan struct{})
	r.dir.mu.Lock()
	r.dir.gate = gate
	r.dir.mu.Unlock()
	good, bad := r.dial(t, hers, members{"invocation": "alice"}), r.dial(t, hers, members{"invocation": "mallory"})
	for _, p := range []*page{bad, good} {
		p.send("status")
	}
	bad.send("action_call_result", members{"toolCallId": id, "result": "forged"})
	until(t, "both ask", func() bool {
		r.dir.mu.Lock()
		defer r.dir.mu.Unlock()
		return r.dir.asked >= 3
	})
	if got := r.Stats(); got.Sockets != 1 || got.Pending != 1 {
		t.Errorf("before the check: %+v, want one socket and one call", got)
	}
	close(gate)
	if told := bad.refused(); len(told) != 1 || !strings.Contains(told[0], "exception") {
		t.Errorf("the refused client was told %q, want the exception alone", told)
	}
	if name, _ := good.next(); name != "connected" {
		t.Errorf("first event = %s, want connected", name)
	}
	if name, got := good.next(); name != "status" || got["totalConnections"] != 2.0 {
		t.Errorf("second event = %s %v, want the status that was asked for before", name, got)
	}
	if got := first.ask("action_call_result", members{"toolCallId": id, "result": "real"}); got["success"] != true {
		t.Errorf("the page's own answer = %v", got)
	}
	if got := wait(t, out); got.Text != "real" {
		t.Errorf("call = %+v, want the page's own answer", got)
	}
}

// TestForeignSession: user B connects with A's session id while A streams; B is
// disconnected and hears nothing (quality D8, oracle-wire.md 10.2).
func TestForeignSession(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	a := r.join(t, hers, "alice")
	b := r.dial(t, hers, members{"invocation": "bob"})
	subscriber := r.join(t, his, "bob")
	const events = 1000
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for i := range events {
			r.Emit(alice, hers, "tool_call", members{"requestId": "r", "n": i})
		}
	}()
	for i := range events {
		if got := a.event("tool_call"); got["n"] != float64(i) {
			t.Fatalf("event %v, want %d", got["n"], i)
		}
	}
	<-sent
	if told := b.refused(); len(told) != 1 || !strings.Contains(told[0], "Session not found") {
		t.Errorf("B was told %q, want the refusal alone", told)
	}
	if got := subscriber.ask("subscribe", members{"sessionId": hers}); got["status"] != "error" || got["message"] != "Session not found" {
		t.Errorf("subscribe to A's session = %v", got)
	}
	r.Emit(alice, hers, "tool_call", members{"requestId": "r"})
	r.Emit(bob, hers, "tool_call", members{"requestId": "not hers"}) // the wrong user
	subscriber.quiet()
	if got := a.event("tool_call"); got["requestId"] != "r" {
		t.Errorf("A heard %v", got)
	}
}

// TestMisses: who asks for sessions of others again and again is disconnected.
func TestMisses(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p := r.join(t, hers, "alice")
	for i := range 20 {
		p.send("subscribe", members{"sessionId": fmt.Sprintf("$guess-%d", i)})
	}
	if told := p.refused(); len(told) != 20 {
		t.Errorf("told %d times, want 20", len(told))
	}
}

// TestPassingFailure: a check that cannot be made is made again, because clients
// do not come back after a refusal.
func TestPassingFailure(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.dir.fails = []error{errors.New("database is gone"), fault.New(fault.Unavailable, "UCAN_KEYS_UNAVAILABLE", "Later.")}
	r.join(t, hers, "alice")
	if r.dir.asked != 3 {
		t.Errorf("asked %d times, want 3", r.dir.asked)
	}
}

// TestLastingFailure: what our own failure is about stays with us.
func TestLastingFailure(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		n := 0
		err := socket.Again(t.Context(), func() error { n++; return errors.New("database is gone") })
		if err == nil || n != 5 || socket.Shown(err) != "Internal server error" {
			t.Errorf("%d tries, %v, shown as %q", n, err, socket.Shown(err))
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		n = 0
		if err := socket.Again(ctx, func() error { n++; return errors.New("gone") }); err == nil || n != 1 {
			t.Errorf("%d tries after the end of ctx, want 1", n)
		}
	})
}

// TestDeletedWhileJoining: a session that is deleted between the check and the
// join is not joined.
func TestDeletedWhileJoining(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	other := r.join(t, hers2, "alice")
	r.dir.mu.Lock()
	r.dir.owning = func() { r.DisconnectSession(alice, hers) }
	r.dir.mu.Unlock()
	p := r.dial(t, hers, members{"invocation": "alice"})
	if told := p.refused(); len(told) != 1 || !strings.Contains(told[0], "Session not found") {
		t.Errorf("told %q", told)
	}
	if got := other.ask("subscribe", members{"sessionId": hers}); got["message"] != "Session not found" {
		t.Errorf("subscribe = %v", got)
	}
}

// TestCaps: connections are bounded for a user, an address and in all.
func TestCaps(t *testing.T) {
	t.Parallel()
	t.Run("user", func(t *testing.T) {
		t.Parallel()
		r := start(t, func(c *socket.Config) { c.MaxPerUser = 2 })
		first := r.join(t, hers, "alice")
		r.join(t, hers2, "alice")
		if told := r.dial(t, hers, members{"invocation": "alice"}).refused(); len(told) != 1 || !strings.Contains(told[0], "Too many connections") {
			t.Errorf("told %q", told)
		}
		r.join(t, his, "bob")
		if err := first.Close(); err != nil {
			t.Fatal(err)
		}
		until(t, "the first is forgotten", func() bool { return r.Stats().Sockets == 2 })
		r.join(t, hers, "alice")
	})
	for name, change := range map[string]func(*socket.Config){
		"address": func(c *socket.Config) { c.MaxPerAddress = 2 },
		"all":     func(c *socket.Config) { c.MaxConns = 2 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, change)
			first := r.join(t, hers, "alice")
			r.join(t, his, "bob")
			var refusal *clienttest.StatusError
			if _, err := clienttest.Dial(t.Context(), r.url, nil); !errors.As(err, &refusal) || refusal.Status != 429 && refusal.Status != 503 {
				t.Fatalf("third connection: %v, want 429 or 503", err)
			}
			if err := first.Cut(); err != nil {
				t.Fatal(err)
			}
			until(t, "there is room again", func() bool {
				c, err := clienttest.Dial(t.Context(), r.url, nil)
				return err == nil && c.Cut() == nil
			})
		})
	}
}

// TestOrigin: a page of an origin that is not listed gets no socket
// (oracle-wire.md 10.9).
func TestOrigin(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *socket.Config) { c.Origin = func(o string) bool { return o == "https://app.example" } })
	for origin, ok := range map[string]bool{"https://app.example": true, "https://evil.example": false, "null": false} {
		c, err := clienttest.Dial(t.Context(), r.url, http.Header{"Origin": {origin}})
		if (err == nil) != ok {
			t.Errorf("Dial from %s: %v, want ok %v", origin, err, ok)
		}
		if c != nil {
			_ = c.Cut()
		}
	}
	r.join(t, hers, "alice") // no browser, no Origin
}

// TestShutdownEndsChecks: a hub that stops does not wait for what others are
// slow to tell it, about sockets or about sessions.
func TestShutdownEndsChecks(t *testing.T) {
	t.Parallel()
	began, ended := make(chan struct{}, 2), make(chan error, 2)
	hang := func(ctx context.Context) error {
		if _, ok := ctx.Deadline(); !ok {
			t.Error("a question without a deadline")
		}
		began <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return ctx.Err()
	}
	var slow atomic.Bool
	r := start(t, func(c *socket.Config) {
		c.Recheck = time.Millisecond
		owns := c.Owns
		c.Owns = func(ctx context.Context, user, session string) (bool, error) {
			if slow.Load() {
				return false, hang(ctx)
			}
			return owns(ctx, user, session)
		}
	})
	r.stays(func(string) socket.Guest { return socket.Guest{Check: hang} })
	p := r.join(t, hers, "alice")
	wait(t, began)
	slow.Store(true)
	r.Receive(t.Context(), "", true)
	wait(t, began)
	done := make(chan error, 1)
	go func() { done <- r.Shutdown(t.Context()) }()
	p.ended()
	_ = p.Cut()
	if err := wait(t, done); err != nil {
		t.Errorf("Shutdown() = %v", err)
	}
	for range 2 {
		if err := wait(t, ended); !errors.Is(err, context.Canceled) {
			t.Errorf("a question ended with %v, want that nobody wants to know any more", err)
		}
	}
	r.Receive(t.Context(), "", true) // too late to ask anybody
	if n := len(began); n != 0 {
		t.Errorf("%d questions after the end", n)
	}
}

// TestShutdown: clients of a server that stops are not told to stay away
// (oracle-wire.md 10.18), and calls do not wait for them.
func TestShutdown(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p := r.join(t, hers, "alice")
	out := r.asking(t, alice, hers, browser("pick"), `{}`)
	p.event("browser_tool_call")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- r.Shutdown(ctx) }()
	p.ended()
	_ = p.Cut()
	if err := wait(t, done); err != nil {
		t.Errorf("Shutdown() = %v", err)
	}
	if got := wait(t, out); got.Err != "The browser disconnected before it answered." {
		t.Errorf("call = %+v", got)
	}
	if got := r.Stats(); got.Sockets != 0 || got.Sessions != 0 || got.Pending != 0 || got.Conns != 0 {
		t.Errorf("left over: %+v", got)
	}
}

// TestDisconnectSession: the sockets of a deleted session are disconnected for
// good, those that only followed it stay, and its calls fail.
func TestDisconnectSession(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p, follower, stranger := r.join(t, hers, "alice"), r.join(t, hers2, "alice"), r.join(t, his, "bob")
	follower.ask("subscribe", members{"sessionId": hers})
	out := r.asking(t, alice, hers, browser("pick"), `{}`)
	follower.event("browser_tool_call")
	r.DisconnectSession(bob, hers) // not his
	p.quiet2("browser_tool_call")
	r.dir.remove(hers)
	r.DisconnectSession(alice, hers)
	if told := p.refused(); len(told) != 2 || !strings.HasPrefix(told[0], `42["message_cache_invalidation",{"sessionId":"$alice-1"`) {
		t.Errorf("told %q, want the invalidation twice", told)
	}
	if got := wait(t, out); got.Err != "The session was deleted before the browser answered." {
		t.Errorf("call = %+v", got)
	}
	follower.event("message_cache_invalidation")
	follower.event("event")
	r.Emit(alice, hers, "tool_call", members{"requestId": "r"})
	follower.quiet()
	stranger.quiet()
	r.dial(t, hers, members{"invocation": "alice"}).refused()
	until(t, "the room is gone", func() bool { return r.Stats().Sessions == 2 })
}

// quiet2 is quiet past one event.
func (p *page) quiet2(past string) {
	p.t.Helper()
	p.event(past)
	p.quiet()
}

// TestRoutes: the gateway works as a route of the API, and nobody is asked for
// credentials there.
func TestRoutes(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	a := web.NewAPI(web.APIConfig{Name: "oracle", Errors: web.Nest})
	r.Routes(a)
	mux := http.NewServeMux()
	a.Mount(mux)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	routed := &rig{Hub: r.Hub, url: server.URL + "/socket.io/", dir: r.dir}
	routed.join(t, hers, "alice").quiet()
	for query, want := range map[string]int{"?EIO=4&transport=polling": 200, "?EIO=3&transport=polling": 400, "": 400} {
		answer, err := server.Client().Get(routed.url + query)
		if err != nil {
			t.Fatal(err)
		}
		_ = answer.Body.Close()
		if answer.StatusCode != want {
			t.Errorf("GET %s = %d, want %d", query, answer.StatusCode, want)
		}
	}
}
