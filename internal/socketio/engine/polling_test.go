package engine_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

func TestRefusedRequests(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	for _, tt := range []struct {
		name, method, query string
		status              int
		body                string
	}{
		{"no transport", "GET", "EIO=4", 400, `{"code":0,"message":"Transport unknown"}`},
		{"other transport", "GET", "EIO=4&transport=carrier-pigeon", 400, `{"code":0,"message":"Transport unknown"}`},
		{"unknown id", "GET", eio + "&sid=nobody", 400, `{"code":1,"message":"Session ID unknown"}`},
		{"empty id", "GET", eio + "&sid=", 400, `{"code":1,"message":"Session ID unknown"}`},
		{"post without id", "POST", eio, 400, `{"code":2,"message":"Bad handshake method"}`},
		{"put without id", "PUT", eio, 400, `{"code":2,"message":"Bad handshake method"}`},
		{"websocket without upgrade", "GET", "EIO=4&transport=websocket", 400, `{"code":3,"message":"Bad request"}`},
		{"no version", "GET", "transport=polling", 400, `{"code":5,"message":"Unsupported protocol version"}`},
		{"version 3", "GET", "EIO=3&transport=polling", 400, `{"code":5,"message":"Unsupported protocol version"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g.want(tt.method, tt.query, "", tt.status, tt.body)
		})
	}
	g.want("DELETE", g.poll(), "", 400, `{"code":3,"message":"Bad request"}`)
}

func TestPollingMessages(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid := g.poll()
	for _, tt := range []struct{ in, out string }{
		{"4hello", "4hello"},
		{"4a\x1e4b\x1e4", "4a\x1e4b\x1e4"},
		{"4hello\x1ebAQIDBA==", "4hello\x1ebAQIDBA=="},
		{"4żółć", "4żółć"},
		{"6\x1e4after a noop", "4after a noop"},
	} {
		g.want("POST", sid, tt.in, 200, "ok")
		g.want("GET", sid, "", 200, tt.out)
	}
	waiting := g.later(sid)
	g.want("POST", sid, "4late", 200, "ok")
	if a := wait(t, waiting); a.body != "4late" {
		t.Errorf("waiting poll = %v, want 4late", a)
	}
	if a := g.do("GET", eio, "", nil); a.header.Get("Content-Type") != "text/plain; charset=UTF-8" || a.header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers = %v", a.header)
	}
}

func TestPollingMistakesClose(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, body string
		status     int
		reason     engine.Reason
	}{
		{"no packet", "", 400, engine.ReasonParseError},
		{"unknown type", "abc", 400, engine.ReasonParseError},
		{"unknown type later", "4a\x1e7", 400, engine.ReasonParseError},
		{"bad base64", "b!!", 400, engine.ReasonParseError},
		{"not UTF-8", "4\xff", 400, engine.ReasonParseError},
		{"ping from the client", "2", 400, engine.ReasonParseError},
		{"upgrade in a body", "5", 400, engine.ReasonParseError},
		{"handler refuses", "4bad", 400, engine.ReasonParseError},
		{"too large", "4" + strings.Repeat("x", 1000), 413, engine.ReasonTransportError},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := start(t, engine.Config{MaxPayload: 1000})
			sid := g.poll()
			g.want("POST", sid, tt.body, tt.status, "")
			g.ended(tt.reason)
			g.want("GET", sid, "", 400, `{"code":1,"message":"Session ID unknown"}`)
		})
	}
}

func TestSecondPollCloses(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid := g.poll()
	// Which of the two comes first is open: one is told to close, one refused.
	a, b := g.later(sid), g.later(sid)
	first, second := wait(t, a), wait(t, b)
	if first.status != 200 {
		first, second = second, first
	}
	if first.body != "1" || second.status != 400 {
		t.Errorf("polls = %v and %v, want a close and a refusal", first, second)
	}
	g.ended(engine.ReasonTransportError)
}

func TestClientClosesPolling(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid := g.poll()
	g.want("POST", sid, "1", 200, "ok")
	g.ended(engine.ReasonTransportClose)
	g.want("GET", sid, "", 200, "6") // it was under way
	g.want("GET", sid, "", 400, "")

	sid = g.poll()
	waiting := g.later(sid)
	c := wait(t, g.conns)
	c = wait(t, g.conns)
	until(t, "the poll waits", func() bool { return engine.Polls(c) })
	g.want("POST", sid, "1", 200, "ok")
	if a := wait(t, waiting); a.body != "6" {
		t.Errorf("waiting poll = %v, want a noop", a)
	}
	g.want("GET", sid, "", 400, "")
}

func TestServerClosesPolling(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid := g.poll()
	g.want("POST", sid, "4close", 200, "ok")
	g.want("GET", sid, "", 200, "4bye") // the last word comes alone
	g.want("GET", sid, "", 200, "1")
	g.ended(engine.ReasonForced)
	g.want("GET", sid, "", 400, "")
	if err := wait(t, g.conns).Send(engine.Text([]byte("x"))); !errors.Is(err, engine.ErrClosed) {
		t.Errorf("Send() after the end = %v, want ErrClosed", err)
	}
}

func TestAbandonedPollCloses(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{})
	sid := g.poll()
	client := &http.Client{Timeout: 50 * time.Millisecond}
	if answer, err := client.Get(g.url + "?" + sid); err == nil {
		answer.Body.Close()
		t.Error("the poll was answered, want a timeout of its client")
	}
	g.ended(engine.ReasonTransportError)
}

func TestPollingPing(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{PingInterval: 50 * time.Millisecond, PingTimeout: 5 * time.Second})
	sid := g.poll()
	for range 3 {
		g.want("GET", sid, "", 200, "2")
		g.want("POST", sid, "3", 200, "ok")
	}
}

func TestPollingTimeout(t *testing.T) {
	t.Parallel()
	g := start(t, engine.Config{PingInterval: 20 * time.Millisecond, PingTimeout: 20 * time.Millisecond})
	sid := g.poll()
	g.ended(engine.ReasonPingTimeout)
	g.want("GET", sid, "", 400, "")
	if n := g.server.Len(); n != 0 {
		t.Errorf("Len() = %d, want 0", n)
	}
}

func TestOriginAndCORS(t *testing.T) {
	t.Parallel()
	origin := func(name string) http.Header {
		return http.Header{"Origin": {name}, "Access-Control-Request-Headers": {"content-type"}}
	}
	all := start(t, engine.Config{CORS: true})
	if a := all.do("GET", eio, "", origin("https://any.example")); a.header.Get("Access-Control-Allow-Origin") != "*" || a.header.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("headers = %v, want any origin, no credentials", a.header)
	}
	some := start(t, engine.Config{CORS: true, CheckOrigin: func(r *http.Request) bool { return r.Header.Get("Origin") == "https://good.example" }})
	a := some.do("OPTIONS", eio, "", origin("https://good.example"))
	for name, want := range map[string]string{
		"Access-Control-Allow-Origin": "https://good.example", "Access-Control-Allow-Credentials": "true",
		"Access-Control-Allow-Methods": "GET, POST, OPTIONS", "Access-Control-Allow-Headers": "content-type", "Vary": "Origin",
	} {
		if got := a.header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	if a.status != 204 {
		t.Errorf("preflight = %d, want 204", a.status)
	}
	if a := some.do("GET", eio, "", origin("https://evil.example")); a.status != 403 || strings.TrimSpace(a.body) != `{"code":4,"message":"Forbidden"}` {
		t.Errorf("bad origin = %v, want 403", a)
	}
	_, err := clienttest.Dial(t.Context(), some.url, http.Header{"Origin": {"https://evil.example"}})
	var refused *clienttest.StatusError
	if !errors.As(err, &refused) || refused.Status != 403 {
		t.Errorf("websocket of a bad origin = %v, want 403", err)
	}
	some.want("GET", eio, "", 200, "") // no browser, no Origin
	off := start(t, engine.Config{})
	if a := off.do("GET", eio, "", origin("https://any.example")); a.header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("headers = %v, want none of CORS", a.header)
	}
}

func TestAdmit(t *testing.T) {
	t.Parallel()
	busy := fault.New(fault.TooMany, "TOO_MANY", "Too many connections.")
	busy.RetryAfter = 1500 * time.Millisecond
	for _, tt := range []struct {
		name   string
		err    error
		status int
		text   string
	}{
		{"too many", busy, 429, "Too many connections."},
		{"stopping", fault.New(fault.Unavailable, "STOPPING", "Later."), 503, "Later."},
		{"forbidden", fault.New(fault.Forbidden, "NO", "No."), 403, "No."},
		{"other error", errors.New("secret detail"), 403, "Forbidden"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			g := start(t, engine.Config{Admit: func(*http.Request) (func(), error) { return nil, tt.err }})
			a := g.do("GET", eio, "", nil)
			if a.status != tt.status || !strings.Contains(a.body, tt.text) || strings.Contains(a.body, "secret") {
				t.Errorf("answer = %v, want %d %s", a, tt.status, tt.text)
			}
			if want := map[bool]string{true: "2", false: ""}[tt.status == 429]; a.header.Get("Retry-After") != want {
				t.Errorf("Retry-After = %q, want %q", a.header.Get("Retry-After"), want)
			}
		})
	}
}

func TestMaxConnsAndRelease(t *testing.T) {
	t.Parallel()
	released := make(chan struct{}, 10)
	g := start(t, engine.Config{MaxConns: 2, Admit: func(*http.Request) (func(), error) {
		return func() { released <- struct{}{} }, nil
	}})
	sid, c := g.poll(), g.dial("")
	g.want("GET", eio, "", 503, "")
	wait(t, released)
	g.want("POST", sid, "1", 200, "ok")
	wait(t, released)
	g.poll()
	if err := c.Cut(); err != nil {
		t.Fatal(err)
	}
	wait(t, released)
	until(t, "a place is free", func() bool { return g.server.Len() == 1 })
	g.dial("")
}
