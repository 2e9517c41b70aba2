package engine_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/socketio/engine"
)

const patience = 10 * time.Second

// rig is a server on a real port, with what its handlers saw.
type rig struct {
	t      *testing.T
	server *engine.Server
	url    string
	conns  chan *engine.Conn
	closed chan engine.Reason
}

// start serves cfg. Messages are echoed; "close" makes the server close, and
// "bad" is refused.
func start(t *testing.T, cfg engine.Config) *rig {
	t.Helper()
	g := &rig{t: t, conns: make(chan *engine.Conn, 1000), closed: make(chan engine.Reason, 1000)}
	cfg.Open = func(c *engine.Conn, _ *http.Request) engine.Handler {
		g.conns <- c
		return handler{g, c}
	}
	g.server = engine.New(cfg)
	web := httptest.NewServer(g.server)
	g.url = web.URL + "/engine.io/"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := g.server.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown() error = %v", err)
		}
		web.Close()
	})
	return g
}

type handler struct {
	rig  *rig
	conn *engine.Conn
}

func (h handler) Message(_ context.Context, data []byte, binary bool) error {
	switch {
	case binary:
		return h.conn.Send(engine.Binary(data))
	case string(data) == "bad":
		return io.ErrUnexpectedEOF
	case string(data) == "close":
		if err := h.conn.Send(engine.Text([]byte("bye"))); err != nil {
			return err
		}
		h.conn.Close()
		return nil
	}
	return h.conn.Send(engine.Text(data))
}

func (h handler) Closed(reason engine.Reason) { h.rig.closed <- reason }

// ended waits for the next connection to end.
func (g *rig) ended(want engine.Reason) {
	g.t.Helper()
	if got := wait(g.t, g.closed); got != want {
		g.t.Errorf("closed by %q, want %q", got, want)
	}
}

func wait[T any](t *testing.T, c <-chan T) T {
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
func until(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for deadline := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// answer is what a polling request got.
type answer struct {
	status int
	body   string
	header http.Header
}

func (g *rig) do(method, query, body string, header http.Header) answer {
	g.t.Helper()
	r, err := http.NewRequestWithContext(g.t.Context(), method, g.url+"?"+query, strings.NewReader(body))
	if err != nil {
		g.t.Fatal(err)
	}
	r.Header = header
	if header == nil {
		r.Header = http.Header{}
	}
	got, err := http.DefaultClient.Do(r)
	if err != nil {
		g.t.Error(err)
		return answer{}
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		g.t.Error(err)
	}
	return answer{got.StatusCode, string(text), got.Header}
}

const eio = "EIO=4&transport=polling"

// poll opens a polling connection and gives the query of its requests.
func (g *rig) poll() string {
	g.t.Helper()
	a := g.do("GET", eio, "", nil)
	var open struct {
		SID      string
		Upgrades []string
	}
	if a.status != 200 || !strings.HasPrefix(a.body, "0") || json.Unmarshal([]byte(a.body[1:]), &open) != nil {
		g.t.Fatalf("open = %v", a)
	}
	if len(open.Upgrades) != 1 || len(open.SID) != 20 {
		g.t.Errorf("open = %+v, want an upgrade and an id of 20 characters", open)
	}
	return eio + "&sid=" + open.SID
}

// later runs a GET beside the test.
func (g *rig) later(query string) <-chan answer {
	out := make(chan answer, 1)
	go func() { out <- g.do("GET", query, "", nil) }()
	return out
}

func (g *rig) want(method, query, body string, status int, text string) {
	g.t.Helper()
	if a := g.do(method, query, body, nil); a.status != status || text != "" && strings.TrimSpace(a.body) != text {
		g.t.Errorf("%s %.20q = %d %.80q, want %d %q", method, body, a.status, a.body, status, text)
	}
}

// dial opens a websocket and reads the open packet, unless it is for an upgrade.
func (g *rig) dial(query string) *clienttest.Client {
	g.t.Helper()
	c, err := clienttest.Dial(g.t.Context(), g.url+"?"+query, nil)
	if err != nil {
		g.t.Fatal(err)
	}
	g.t.Cleanup(func() { _ = c.Cut() })
	if query == "" {
		if text, err := c.Text(); err != nil || !strings.Contains(text, `"upgrades":[]`) {
			g.t.Fatalf("open = %q, %v", text, err)
		}
	}
	return c
}

func send(t *testing.T, c *clienttest.Client, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if err := c.Send(text); err != nil {
			t.Fatalf("send %q: %v", text, err)
		}
	}
}

func expect(t *testing.T, c *clienttest.Client, want string) {
	t.Helper()
	if got, err := c.Text(); err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

// gone reads until the connection ends.
func gone(t *testing.T, c *clienttest.Client) {
	t.Helper()
	for {
		if _, err := c.Text(); err != nil {
			if strings.Contains(err.Error(), "timeout") {
				t.Error("the connection stays open")
			}
			return
		}
	}
}
