package socket_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
)

// TestReplies: each event of a client gets its answer, as event and as
// acknowledgement (oracle-wire.md 10.14).
func TestReplies(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p := r.join(t, hers, "alice")
	client := []any{"ping", "status", "subscribe", "list-events", "tool_result", "action_call_result"}
	server := []any{
		"connected", "pong", "status", "subscribed", "available-events", "render_component", "tool_call", "action_call", "browser_tool_call",
		"router_update", "message_cache_invalidation", "reasoning", "router.update", "event", "exception", "weather.changed",
	}
	for _, tt := range []struct {
		send  string
		args  []any
		event string
		want  members
	}{
		{"ping", nil, "pong", members{"sessionId": hers}},
		{"ping", []any{"anything", 3}, "pong", members{"sessionId": hers}},
		{"status", nil, "status", members{"sessionId": hers, "connected": true, "activeSessions": 1.0, "totalConnections": 1.0}},
		{"list-events", nil, "available-events", members{"sessionId": hers, "clientEvents": client, "serverEvents": server}},
		{"subscribe", nil, "subscribed", members{"sessionId": hers}},
		{"subscribe", []any{nil}, "subscribed", members{"sessionId": hers}},
		{"subscribe", []any{members{"events": []string{}}}, "subscribed", members{"sessionId": hers}},
		{"subscribe", []any{members{"sessionId": hers2, "events": []string{"tool_call", "tool_call"}}}, "subscribed", members{"sessionId": hers2, "events": []any{"tool_call"}}},
	} {
		p.send(tt.send, tt.args...)
		name, got := p.next()
		acked := p.ask(tt.send, tt.args...)
		for _, one := range []members{got, acked} {
			if stamp, _ := one["timestamp"].(string); len(stamp) != len("2026-11-15T00:18:36.069Z") || !strings.HasSuffix(stamp, "Z") {
				t.Errorf("%s: timestamp %q", tt.send, stamp)
			}
			delete(one, "timestamp")
			if diff := cmp.Diff(tt.want, one); diff != "" || name != tt.event {
				t.Errorf("%s %v: got %s, want %s (-want +got):\n%s", tt.send, tt.args, name, tt.event, diff)
			}
		}
	}
	if got := p.ask("no-such-event", 1); got["status"] != "error" {
		t.Errorf("acknowledgement of an unknown event = %v", got)
	}
	p.send("no-such-event")
	p.quiet()
}

// TestBadPayloads: what cannot be read is answered with an exception, and the
// client stays.
func TestBadPayloads(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p := r.join(t, hers, "alice")
	many := make([]string, 65)
	for i := range many {
		many[i] = fmt.Sprint("event-", i)
	}
	cases := []struct {
		send string
		args []any
		want string
	}{
		{"tool_result", nil, "the payload must be an object"},
		{"tool_result", []any{nil}, "toolCallId must be a string"},
		{"tool_result", []any{"tc-1"}, "the payload must be an object"},
		{"tool_result", []any{[]int{1}}, "the payload must be an object"},
		{"tool_result", []any{members{}}, "toolCallId must be a string"},
		{"tool_result", []any{members{"toolCallId": 1}}, "toolCallId must be a string"},
		{"action_call_result", []any{members{"toolCallId": ""}}, "toolCallId must be a string"},
		{"action_call_result", []any{json.RawMessage(`{"toolCallId":"a","toolCallId":"b"}`)}, "the payload must be an object"},
		{"subscribe", []any{"x"}, "the payload must be an object"},
		{"subscribe", []any{members{"sessionId": 1}}, "sessionId must be a string"},
		{"subscribe", []any{members{"sessionId": strings.Repeat("x", 300)}}, "sessionId must be a string"},
		{"subscribe", []any{members{"events": "tool_call"}}, "events must be an array of at most 64 names"},
		{"subscribe", []any{members{"events": []any{1}}}, "events must be an array of at most 64 names"},
		{"subscribe", []any{members{"events": many}}, "events must be an array of at most 64 names"},
		{"subscribe", []any{members{"events": []string{""}}}, "events must be an array of at most 64 names"},
	}
	for _, tt := range cases {
		p.send(tt.send, tt.args...)
		name, got := p.next()
		want := members{"status": "error", "message": tt.want, "cause": map[string]any{"pattern": tt.send}}
		if name != "exception" || !reflect.DeepEqual(got, want) {
			t.Errorf("%s %v: got %s %v, want exception %v", tt.send, tt.args, name, got, want)
		}
	}
	if err := p.Send(`451-["tool_result",{"toolCallId":"tc-1","result":{"_placeholder":true,"num":0}}]`); err != nil {
		t.Fatal(err)
	}
	if err := p.SendFrame(2, []byte{1, 2, 3}); err != nil {
		t.Fatal(err)
	}
	if got := p.event("exception"); got["message"] != "the payload must be an object" {
		t.Errorf("binary result: %v", got)
	}
	p.quiet()
	if got := r.Stats().Exceptions; got != int64(len(cases)+1) {
		t.Errorf("%d exceptions counted, want %d", got, len(cases)+1)
	}
}

// TestPanic: a failure of our own reaches the client as the original's text and
// nothing more, and the client stays.
func TestPanic(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *socket.Config) { c.Events = func() []string { panic("secret") } })
	p := r.join(t, hers, "alice")
	p.send("list-events")
	name, got := p.next()
	if want := (members{"status": "error", "message": "Internal server error", "cause": map[string]any{"pattern": "list-events"}}); name != "exception" || !reflect.DeepEqual(got, want) {
		t.Errorf("got %s %v, want exception %v", name, got, want)
	}
	p.quiet()
}

// TestStatusIsPrivate: a caller learns of its own connections only
// (oracle-wire.md 10.9).
func TestStatusIsPrivate(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	a, b := r.join(t, hers, "alice"), r.join(t, his, "bob")
	r.join(t, hers, "alice")
	r.join(t, hers2, "alice")
	for _, tt := range []struct {
		p                 *page
		sessions, sockets float64
	}{{a, 2, 3}, {b, 1, 1}} {
		got := tt.p.ask("status")
		if got["activeSessions"] != tt.sessions || got["totalConnections"] != tt.sockets {
			t.Errorf("status = %v, want %v sessions and %v connections", got, tt.sessions, tt.sockets)
		}
	}
	b.ask("subscribe", members{"sessionId": his, "events": []string{"x"}})
	if got := b.ask("status"); got["activeSessions"] != 1.0 {
		t.Errorf("status after a filter = %v", got)
	}
}

type heard struct {
	Name    string
	Payload members
}

// hear reads n events.
func (p *page) hear(n int) []heard {
	p.t.Helper()
	out := make([]heard, n)
	for i := range out {
		out[i].Name, out[i].Payload = p.next()
	}
	return out
}

// TestEmit: an event comes flat and as the envelope that the published client
// reads (oracle-wire.md 10.16), the router's under both names (10.14).
func TestEmit(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	tabs := []*page{r.join(t, hers, "alice"), r.join(t, hers, "alice")}
	type typed struct {
		Session   string `json:"sessionId"`
		RequestID string `json:"requestId"`
		Step      string `json:"step"`
	}
	for _, tt := range []struct {
		event   string
		payload any
		names   []string
		want    members
	}{
		{"tool_call", members{"requestId": "r", "toolName": "x", "status": "done", "output": "<b>&\u2028"}, []string{"tool_call"}, members{"sessionId": hers, "requestId": "r", "toolName": "x", "status": "done", "output": "<b>&\u2028"}},
		{"router_update", typed{hers, "r", "memory"}, []string{"router.update", "router_update"}, members{"sessionId": hers, "requestId": "r", "step": "memory"}},
		{"router.update", typed{hers, "r", "main"}, []string{"router.update", "router_update"}, members{"sessionId": hers, "requestId": "r", "step": "main"}},
		{"weather.changed", typed{his, "r", "somebody else's session"}, []string{"weather.changed"}, members{"sessionId": hers, "requestId": "r", "step": "somebody else's session"}},
		{"weather.changed", members{}, []string{"weather.changed"}, members{"sessionId": hers, "requestId": ""}},
		{"weather.changed", nil, []string{"weather.changed"}, members{"sessionId": hers, "requestId": "", "data": nil}},
		{"weather.changed", []int{1, 2}, []string{"weather.changed"}, members{"sessionId": hers, "requestId": "", "data": []any{1.0, 2.0}}},
		{"weather.changed", members{"text": "a\xff\x00b"}, []string{"weather.changed"}, members{"sessionId": hers, "requestId": "", "text": "a\uFFFD\x00b"}},
	} {
		r.Emit(alice, hers, tt.event, tt.payload)
		var want []heard
		for _, name := range tt.names {
			want = append(want, heard{name, tt.want}, heard{"event", members{"eventName": name, "payload": map[string]any(tt.want)}})
		}
		for _, p := range tabs {
			if diff := cmp.Diff(want, p.hear(len(want))); diff != "" {
				t.Errorf("Emit(%s, %v) (-want +got):\n%s", tt.event, tt.payload, diff)
			}
		}
	}
}

// TestEmitRefuses: nobody can speak in our own name, or have pages run things.
func TestEmitRefuses(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p := r.join(t, hers, "alice")
	for _, name := range []string{"", "connect", "disconnect", "connect_error", "newListener", "action_call", "browser_tool_call", "exception", "event", "connected"} {
		r.Emit(alice, hers, name, members{"requestId": "r"})
	}
	r.Emit(alice, hers, "weather.changed", func() {})
	r.Emit(alice, "$nobody", "weather.changed", members{})
	p.quiet()
}

// TestSubscribe: a socket follows other sessions of its user, and hears what it
// asked for.
func TestSubscribe(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p, all := r.join(t, hers, "alice"), r.join(t, hers, "alice")
	p.ask("subscribe", members{"events": []string{"router.update", "reasoning"}})
	p.ask("subscribe", members{"sessionId": hers2})
	for _, name := range []string{"tool_call", "reasoning", "router_update"} {
		r.Emit(alice, hers, name, members{"requestId": "r"})
	}
	r.Emit(alice, hers2, "tool_call", members{"requestId": "r2"})
	var got []string
	for _, h := range p.hear(8) {
		got = append(got, h.Name)
	}
	if want := []string{"reasoning", "event", "router.update", "event", "router_update", "event", "tool_call", "event"}; !slices.Equal(got, want) {
		t.Errorf("heard %q, want %q", got, want)
	}
	all.hear(8)
	all.quiet()
	p.ask("subscribe")
	r.Emit(alice, hers, "tool_call", members{"requestId": "again"})
	if got := p.event("tool_call"); got["requestId"] != "again" {
		t.Errorf("after the filter is gone: %v", got)
	}
	p.event("event")
	p.quiet()
}

// TestSubscriptionLimit: one socket follows a bounded number of sessions.
func TestSubscriptionLimit(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for i := range 17 {
		r.dir.owner[fmt.Sprint("$more-", i)] = alice
	}
	p := r.join(t, hers, "alice")
	for i := range 17 {
		got := p.ask("subscribe", members{"sessionId": fmt.Sprint("$more-", i)})
		if full := got["status"] == "error"; full != (i >= 15) {
			t.Errorf("subscription %d: %v", i, got)
		}
	}
}
