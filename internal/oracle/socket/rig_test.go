package socket_test

import (
	"context"
	"encoding/json"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
	"github.com/hearth-dmrv/hearth/internal/socketio/clienttest"
	"github.com/hearth-dmrv/hearth/internal/web"
	"github.com/hearth-dmrv/hearth/internal/web/webtest"
)

const (
	patience = 20 * time.Second

	alice = "did:key:alice"
	bob   = "did:key:bob"

	hers  = "$alice-1"
	hers2 = "$alice-2"
	his   = "$bob-1"
)

// members are the arguments of an event, or a payload.
type members map[string]any

// rig is a hub on a real port, with two users who own sessions. A token is the
// name of its user.
type rig struct {
	*socket.Hub
	url string
	dir *directory
}

// directory is what the hub asks others: who it is, and whose session.
type directory struct {
	mu    sync.Mutex
	owner map[string]string
	asked int
	// gate, if set, is what a check of tokens waits for.
	gate chan struct{}
	// fails are errors to give before the truth.
	fails []error
	// owning is called before Owns answers.
	owning func()
	// stay says how long somebody with a token may stay; nil is for ever.
	stay func(token string) socket.Guest
}

func newDirectory() *directory {
	return &directory{owner: map[string]string{hers: alice, hers2: alice, his: bob}}
}

func (d *directory) handshake(ctx context.Context, invocation, delegation string) (socket.Guest, error) {
	d.mu.Lock()
	gate, stay := d.gate, d.stay
	d.asked++
	var fail error
	if len(d.fails) > 0 {
		fail, d.fails = d.fails[0], d.fails[1:]
	}
	d.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return socket.Guest{}, ctx.Err()
		}
	}
	if fail != nil {
		return socket.Guest{}, fail
	}
	token, refusal := invocation, fault.New(fault.Unauthenticated, "UCAN_INVALID", "Invalid UCAN invocation")
	if token == "" {
		token, refusal = delegation, fault.New(fault.Unauthenticated, "UCAN_MISSING", "Missing UCAN authentication")
	}
	if token != "alice" && token != "bob" {
		return socket.Guest{}, refusal
	}
	var who socket.Guest
	if stay != nil {
		who = stay(token)
	}
	who.User = "did:key:" + token
	return who, nil
}

func (d *directory) owns(_ context.Context, user, session string) (bool, error) {
	d.mu.Lock()
	owned, owning := d.owner[session] == user, d.owning
	d.mu.Unlock()
	if owning != nil {
		owning()
	}
	return owned, nil
}

func (d *directory) remove(session string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.owner, session)
}

func start(t testing.TB, change func(*socket.Config)) *rig {
	t.Helper()
	dir := newDirectory()
	cfg := socket.Config{Handshake: dir.handshake, Owns: dir.owns, Events: func() []string { return []string{"weather.changed", "tool_call"} }}
	if change != nil {
		change(&cfg)
	}
	r := &rig{Hub: socket.New(t.Context(), cfg), dir: dir}
	server := httptest.NewServer(r.Hub)
	r.url = server.URL + "/socket.io/"
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), patience)
		defer cancel()
		if err := r.Shutdown(ctx); err != nil {
			t.Errorf("Shutdown() = %v", err)
		}
		server.Close()
	})
	return r
}

// page is a client of the test.
type page struct {
	*clienttest.Client
	t   testing.TB
	doc *webtest.Channel // what the reference says of events
}

// dial connects a client and sends its tokens; nothing is said yet about
// whether it may stay.
func (r *rig) dial(t testing.TB, session string, auth any) *page {
	t.Helper()
	address := r.url
	if session != "" {
		address += "?sessionId=" + url.QueryEscape(session) + "&userDid=" + url.QueryEscape("did:key:somebody-else")
	}
	c, err := clienttest.Join(t.Context(), address, auth)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Cut() })
	return &page{Client: c, t: t, doc: webtest.NewChannel(t, web.Channel{Name: "sockets", Sent: socket.Sent()})}
}

// join connects a page of a user and waits until it is let in.
func (r *rig) join(t testing.TB, session, token string) *page {
	t.Helper()
	p := r.dial(t, session, members{"invocation": token})
	got := p.event("connected")
	if got["sessionId"] != session || got["message"] != "Connected successfully" || got["timestamp"] == "" {
		t.Fatalf("connected = %v", got)
	}
	return p
}

// event waits for an event, past all others, and gives its payload.
func (p *page) event(name string) members {
	p.t.Helper()
	args, err := p.Event(name)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.documented(name, args)
}

// documented gives the payload of an event, and holds it to the reference where
// it is one of our own and not of a test.
func (p *page) documented(name string, args []json.RawMessage) members {
	p.t.Helper()
	out := p.object(args)
	if slices.ContainsFunc(socket.Sent(), func(m web.Message) bool { return m.Name == name }) {
		if err := p.doc.Check(name, args[0]); err != nil {
			p.t.Errorf("an event that the document does not describe: %v", err)
		}
	}
	return out
}

func (p *page) object(args []json.RawMessage) members {
	p.t.Helper()
	var out members
	if len(args) != 1 || json.Unmarshal(args[0], &out) != nil {
		p.t.Fatalf("arguments = %s, want one object", args)
	}
	return out
}

// next reads the next event, whatever it is.
func (p *page) next() (string, members) {
	p.t.Helper()
	text, err := p.Text()
	if err != nil {
		p.t.Fatal(err)
	}
	var args []json.RawMessage
	var name string
	if rest, ok := strings.CutPrefix(text, "42"); !ok || json.Unmarshal([]byte(rest), &args) != nil || json.Unmarshal(args[0], &name) != nil {
		p.t.Fatalf("got %q, want an event", text)
	}
	return name, p.documented(name, args[1:])
}

// send emits an event.
func (p *page) send(event string, args ...any) {
	p.t.Helper()
	if err := p.Emit(event, args...); err != nil {
		p.t.Fatal(err)
	}
}

// ask emits an event and gives its acknowledgement, past events.
func (p *page) ask(event string, args ...any) members {
	p.t.Helper()
	raw, err := json.Marshal(append([]any{event}, args...))
	if err != nil {
		p.t.Fatal(err)
	}
	if err := p.Send("427" + string(raw)); err != nil {
		p.t.Fatal(err)
	}
	for {
		text, err := p.Text()
		if err != nil {
			p.t.Fatalf("wait for the acknowledgement of %s: %v", event, err)
		}
		if rest, ok := strings.CutPrefix(text, "437"); ok {
			var got []json.RawMessage
			if err := json.Unmarshal([]byte(rest), &got); err != nil {
				p.t.Fatalf("acknowledgement %q: %v", text, err)
			}
			return p.object(got)
		}
	}
}

// quiet wants nothing to have come before the answer to a ping.
func (p *page) quiet() {
	p.t.Helper()
	p.send("ping")
	if name, got := p.next(); name != "pong" {
		p.t.Errorf("got %s %v, want nothing", name, got)
	}
}

// refused wants the client to be disconnected by the server, and gives what it
// was told before.
func (p *page) refused() (told []string) {
	p.t.Helper()
	for {
		text, err := p.Text()
		if err != nil {
			p.t.Fatalf("got %q and then %v, want 41", told, err)
		}
		if text == "41" {
			return told
		}
		told = append(told, text)
	}
}

// ended wants the connection to end without a word of the protocol, so that a
// client comes back.
func (p *page) ended() {
	p.t.Helper()
	for {
		text, err := p.Text()
		switch {
		case err != nil && strings.Contains(err.Error(), "timeout"):
			p.t.Fatal("the connection goes on")
		case err != nil:
			return
		case strings.HasPrefix(text, "41"):
			p.t.Fatal("got 41: clients do not connect again after it")
		}
	}
}

func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.After(patience)
	for !ok() {
		select {
		case <-tick.C:
		case <-late:
			t.Fatalf("not in time: %s", what)
		}
	}
}

// about is the context of a turn.
func about(ctx context.Context, user, session string) context.Context {
	return tool.With(ctx, tool.Context{User: user, SessionID: session, RequestID: "req-1"})
}

func browser(name string) tool.Spec { return tool.Spec{Name: name, Kind: tool.Browser} }

func action(name string) tool.Spec { return tool.Spec{Name: name, Kind: tool.Action} }

// asking calls a tool of the page and gives what will come of it.
func (r *rig) asking(t testing.TB, user, session string, s tool.Spec, args string) <-chan tool.Output {
	t.Helper()
	out := make(chan tool.Output, 1)
	var done sync.WaitGroup
	ctx := about(t.Context(), user, session)
	done.Go(func() {
		got, err := r.Call(ctx, s, tool.Call{ID: "call_1", Name: s.Name, Args: jsontext.Value(args)})
		if err != nil {
			got = tool.Output{Err: "error: " + err.Error()}
		}
		out <- got
	})
	t.Cleanup(done.Wait)
	return out
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
