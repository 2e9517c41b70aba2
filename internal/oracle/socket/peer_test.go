package socket_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/hearth-dmrv/hearth/internal/bus"
	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
)

const topic = "sockets"

// cluster starts instances on one bus, with one directory. Calls wait long for
// instances that do not answer, so that a test which waits for one is seen.
func cluster(t *testing.T, names ...string) ([]*rig, *bus.Local) {
	t.Helper()
	b := bus.New()
	t.Cleanup(b.Close)
	dir := newDirectory()
	var out []*rig
	for _, name := range names {
		r := start(t, func(c *socket.Config) {
			c.Instance, c.PeerWait, c.Handshake, c.Owns = name, patience, dir.handshake, dir.owns
			c.Publish = func(_, text string) {
				if err := b.Publish(t.Context(), topic, text); err != nil {
					t.Errorf("publish: %v", err)
				}
			}
		})
		r.dir = dir
		cancel := b.Subscribe(topic, func(m bus.Message) { r.Receive(t.Context(), m.Payload, m.Missed) })
		t.Cleanup(cancel)
		r.Greet()
		out = append(out, r)
	}
	for _, r := range out {
		until(t, "all have met", func() bool { return r.Peers() == len(names)-1 })
	}
	return out, b
}

// TestPeersEmit: an event of a run reaches sockets on other instances, of any
// size the tools may give.
func TestPeersEmit(t *testing.T) {
	t.Parallel()
	all, _ := cluster(t, "a", "b", "c")
	p, filtered, other := all[1].join(t, hers, "alice"), all[2].join(t, hers, "alice"), all[1].join(t, his, "bob")
	filtered.ask("subscribe", members{"events": []string{"reasoning"}})
	long := strings.Repeat("€", 60_000)
	all[0].Emit(alice, hers, "tool_call", members{"requestId": "r", "output": "short"})
	all[0].Emit(alice, hers, "tool_call", members{"requestId": "r", "output": long})
	all[0].Emit(alice, hers, "tool_call", members{"requestId": "too much", "output": strings.Repeat(long, 4)})
	all[0].Emit(bob, hers, "tool_call", members{"requestId": "not hers"})
	all[0].Emit(alice, hers, "router_update", members{"requestId": "r"})
	all[0].Emit(alice, hers, "reasoning", members{"requestId": "r"})
	for i, want := range []string{"short", long} {
		if got := p.event("tool_call"); got["output"] != want {
			t.Errorf("event %d: %d bytes, want %d", i, len(fmt.Sprint(got["output"])), len(want))
		}
	}
	if got := p.hear(2); got[0].Name != "event" || got[1].Name != "router.update" {
		t.Errorf("heard %v, want the envelope and router.update", got)
	}
	if name, _ := filtered.next(); name != "reasoning" {
		t.Errorf("the filtered socket heard %s", name)
	}
	other.quiet()
}

// TestPeersCall: the run of a call may be elsewhere than the page that answers.
func TestPeersCall(t *testing.T) {
	t.Parallel()
	all, _ := cluster(t, "a", "b", "c")
	far, farther := all[1].join(t, hers, "alice"), all[2].join(t, hers, "alice")
	stranger := all[1].join(t, his, "bob")
	for _, result := range []string{"short", strings.Repeat("é", 50_000)} {
		out := all[0].asking(t, alice, hers, action("buy"), `{"n":1}`)
		got := far.event("action_call")
		if !reflect.DeepEqual(got["args"], map[string]any{"n": 1.0}) {
			t.Errorf("call = %v", got)
		}
		farther.event("action_call")
		if got := stranger.ask("action_call_result", members{"toolCallId": got["toolCallId"], "sessionId": hers, "result": "forged"}); got["success"] != false {
			t.Errorf("a forged answer: %v", got)
		}
		far.send("action_call_result", members{"toolCallId": got["toolCallId"], "result": result})
		if out := wait(t, out); out.Text != result {
			t.Errorf("output = %d bytes, %q, want %d", len(out.Text), out.Err, len(result))
		}
		until(t, "the call is over everywhere", func() bool { return all[0].Stats().Pending+all[1].Stats().Pending+all[2].Stats().Pending == 0 })
		if got := farther.ask("action_call_result", members{"toolCallId": got["toolCallId"], "result": "second"}); got["success"] != false {
			t.Errorf("second answer: %v", got)
		}
	}
	far.quiet()
	// A page here and one there: the one there may answer.
	near := all[0].join(t, hers, "alice")
	out := all[0].asking(t, alice, hers, browser("pick"), `{}`)
	near.event("browser_tool_call")
	far.send("tool_result", members{"toolCallId": far.event("browser_tool_call")["toolCallId"], "result": "there"})
	if got := wait(t, out); got.Text != "there" {
		t.Errorf("output = %+v", got)
	}
}

// TestPeersNobody: with other instances too a call fails at once when no page
// is there, and when the last one leaves.
func TestPeersNobody(t *testing.T) {
	t.Parallel()
	all, _ := cluster(t, "a", "b")
	began := time.Now()
	if got := wait(t, all[0].asking(t, alice, hers, browser("pick"), `{}`)); got.Err != "No browser is connected to this session, so the tool was not run." {
		t.Errorf("call = %+v", got)
	}
	near, far := all[0].join(t, hers, "alice"), all[1].join(t, hers, "alice")
	out := all[0].asking(t, alice, hers, browser("pick"), `{}`)
	near.event("browser_tool_call")
	far.event("browser_tool_call")
	_ = near.Close()
	until(t, "the near page is gone", func() bool { return all[0].Stats().Sockets == 0 })
	if got := all[0].Stats().Pending; got != 1 {
		t.Errorf("%d calls pending while a page is left, want 1", got)
	}
	_ = far.Close()
	if got := wait(t, out); got.Err != "The browser disconnected before it answered." {
		t.Errorf("call = %+v", got)
	}
	if took := time.Since(began); took > patience/2 {
		t.Errorf("took %s", took)
	}
}

// TestPeersStop: an instance that stops takes its pages out of calls, one that
// is silent is waited for once.
func TestPeersStop(t *testing.T) {
	t.Parallel()
	all, b := cluster(t, "a", "b")
	far := all[1].join(t, hers, "alice")
	out := all[0].asking(t, alice, hers, browser("pick"), `{}`)
	far.event("browser_tool_call")
	all[1].Drain()
	far.ended()
	_ = far.Cut()
	if got := wait(t, out); got.Err == "" {
		t.Errorf("call = %+v, want a failure", got)
	}
	if err := all[1].Shutdown(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "it is forgotten", func() bool { return all[0].Peers() == 0 })

	lone := start(t, func(c *socket.Config) {
		c.Instance, c.PeerWait = "lone", 20*time.Millisecond
		c.Publish = func(_, text string) { _ = b.Publish(t.Context(), "nowhere", text) }
	})
	lone.Receive(t.Context(), `{"from":"ghost","seq":1,"kind":"here"}`, false)
	if lone.Peers() != 1 {
		t.Fatal("the ghost was not met")
	}
	if got := wait(t, lone.asking(t, alice, hers, browser("pick"), `{}`)); got.Err != "No browser is connected to this session, so the tool was not run." {
		t.Errorf("call = %+v", got)
	}
	if lone.Peers() != 0 {
		t.Error("the ghost is still waited for")
	}
	lone.Receive(t.Context(), `{"from":"ghost","seq":2,"kind":"taken","id":"tc-req-1-00000000"}`, false) // after all, but too late
	if lone.Peers() != 1 {
		t.Error("who speaks is there")
	}
}

// TestPeersBye: calls do not wait for an instance that says it stops.
func TestPeersBye(t *testing.T) {
	t.Parallel()
	said := make(chan string, 100)
	r := start(t, func(c *socket.Config) { c.PeerWait, c.Publish = patience, func(_, text string) { said <- text } })
	ghost := func(kind, id string) {
		r.Receive(t.Context(), fmt.Sprintf(`{"from":"ghost","seq":1,"kind":%q,"id":%q}`, kind, id), false)
	}
	for _, tt := range []struct{ before, want string }{
		{"taken", "The browser disconnected before it answered."},
		{"here", "No browser is connected to this session, so the tool was not run."},
	} {
		ghost("here", "")
		out := r.asking(t, alice, hers, browser("pick"), `{}`)
		var n struct {
			Kind string `json:"kind"`
			ID   string `json:"id"`
		}
		for n.Kind != "call" {
			if err := json.Unmarshal([]byte(wait(t, said)), &n); err != nil {
				t.Fatal(err)
			}
		}
		ghost(tt.before, n.ID)
		ghost("bye", "")
		if got := wait(t, out); got.Err != tt.want {
			t.Errorf("%s, bye: %+v, want %q", tt.before, got, tt.want)
		}
	}
}

// TestPeersDisconnect: a deleted session is gone on all instances, also on one
// that did not hear of it in time.
func TestPeersDisconnect(t *testing.T) {
	t.Parallel()
	all, _ := cluster(t, "a", "b")
	p, q := all[1].join(t, hers, "alice"), all[1].join(t, hers2, "alice")
	out := all[0].asking(t, alice, hers, browser("pick"), `{}`)
	p.event("browser_tool_call")
	all[0].dir.remove(hers)
	all[0].DisconnectSession(alice, hers)
	p.refused()
	if got := wait(t, out); got.Err != "The session was deleted before the browser answered." {
		t.Errorf("call = %+v", got)
	}
	q.quiet()
	all[1].dir.remove(hers2)
	all[1].Receive(t.Context(), "", true)
	q.refused()
}

// TestStrangeNotes: what is no note of ours harms nobody.
func TestStrangeNotes(t *testing.T) {
	t.Parallel()
	all, _ := cluster(t, "a", "b")
	p := all[0].join(t, hers, "alice")
	for _, text := range []string{
		"", "x", "{}", `{"from":"b"}`, `{"from":"b","kind":"emit","user":"did:key:bob","session":"$alice-1","event":"tool_call","payload":{}}`,
		`{"from":"b","kind":"emit","user":"did:key:alice","session":"$alice-1","event":"action_call","payload":{}}`,
		`{"from":"b","kind":"answer","id":"tc-1","payload":{}}`, `{"from":"b","kind":"over","id":"tc-1"}`,
		`{"from":"b","to":"c","kind":"drop","user":"did:key:alice","session":"$alice-1"}`,
		"part ", "part b 1 0\nx", "part b 1 5 2\nx", "part b 1 -1 2\nx", "part b 1 0 999999999\nx", "part a 1 0 1\n{}",
	} {
		all[0].Receive(t.Context(), text, false)
	}
	for i := range 200 { // parts of messages that never come whole
		all[0].Receive(t.Context(), fmt.Sprintf("part b %d 0 2\nx", i), false)
	}
	p.quiet()
}

// TestSplit: parts are small enough, valid text, and nothing is lost.
func TestSplit(t *testing.T) {
	t.Parallel()
	for _, unit := range []string{"x", "é", "€", "😀", "ax€😀"} {
		text := strings.Repeat(unit, 2*socket.MaxPart)
		parts := socket.Split(text)
		for _, part := range parts {
			if len(part) > socket.MaxPart || len(part) == 0 || !utf8.ValidString(part) {
				t.Errorf("part of %q: %d bytes, valid %v", unit, len(part), utf8.ValidString(part))
			}
		}
		if strings.Join(parts, "") != text {
			t.Errorf("parts of %q do not give the text", unit)
		}
	}
}

// FuzzReceive: no text another instance sends stops the server.
func FuzzReceive(f *testing.F) {
	for _, text := range []string{
		`{"from":"b","seq":1,"kind":"hello"}`, `{"from":"b","kind":"call","id":"x","user":"u","session":"s","event":"action_call","payload":{},"timeoutMs":1}`,
		`{"from":"b","kind":"emit","user":"u","session":"s","event":"x","payload":[]}`, "part b 1 0 1\n{}", `{"from":"b","kind":"drop"}`,
	} {
		f.Add(text)
	}
	dir := newDirectory()
	h := socket.New(f.Context(), socket.Config{Handshake: dir.handshake, Owns: dir.owns, Publish: func(string, string) {}})
	f.Fuzz(func(t *testing.T, text string) { h.Receive(t.Context(), text, false) })
}

// FuzzAnswer: no answer of a page gives anything but an output.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"success":false}`, `"x"`)
	f.Add(`"x"`, `{"message":1}`)
	f.Fuzz(func(t *testing.T, result, problem string) {
		for _, event := range []string{"browser_tool_call", "action_call"} {
			text, data, err := socket.Outcome(event, result, problem)
			if !utf8.ValidString(err) || text != "" && data != "" {
				t.Errorf("Outcome(%q, %q) = %q, %q, %q", result, problem, text, data, err)
			}
		}
	})
}
