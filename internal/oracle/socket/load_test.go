package socket_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// TestNothingLeft: after its clients have gone a hub holds nothing of them, and
// no goroutine. It is not parallel: it counts goroutines.
//
//nolint:paralleltest // see above
func TestNothingLeft(t *testing.T) {
	before := ours()
	r := start(t, func(c *socket.Config) { c.MaxPerUser = -1 })
	const clients = 300
	pages := make([]*page, clients)
	for i := range pages {
		session, token := hers, "alice"
		if i%3 == 0 {
			session, token = his, "bob"
		}
		pages[i] = r.join(t, session, token)
	}
	out := r.asking(t, alice, hers, browser("pick"), `{}`)
	until(t, "the call is out", func() bool { return r.Stats().Pending == 1 })
	for i, p := range pages {
		if i%2 == 0 {
			_ = p.Close()
		} else {
			_ = p.Cut()
		}
	}
	if got := wait(t, out); got.Err == "" {
		t.Errorf("call = %+v, want a failure", got)
	}
	until(t, "nothing is left", func() bool {
		s := r.Stats()
		return s.Conns+s.Sockets+s.Sessions+s.Pending == 0 && ours() <= before
	})
	if got := r.Stats(); got.Admitted != clients || got.Refused != 0 {
		t.Errorf("stats = %+v", got)
	}
}

// ours counts the goroutines of this package and the layers below it.
func ours() int {
	buf := make([]byte, 8<<20)
	n := 0
	for stack := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		if strings.Contains(stack, "internal/socketio") || strings.Contains(stack, "oracle/socket.") {
			n++
		}
	}
	return n
}

// TestCrowd: many users, sessions, calls, filters and deletions at once.
func TestCrowd(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	const sessions = 20
	for i := range sessions {
		r.dir.owner[fmt.Sprint("$crowd-", i)] = alice
	}
	var all sync.WaitGroup
	for i := range sessions {
		session := fmt.Sprint("$crowd-", i)
		all.Go(func() { crowdOne(t, r, session, i%4 == 0) })
	}
	all.Wait()
	until(t, "nothing is left", func() bool { s := r.Stats(); return s.Sockets+s.Sessions+s.Pending == 0 })
}

func crowdOne(t *testing.T, r *rig, session string, deleted bool) {
	p := r.join(t, session, "alice")
	ctx, cancel := context.WithCancel(about(t.Context(), alice, session))
	defer cancel()
	var calls sync.WaitGroup
	const n = 10
	for i := range n {
		calls.Go(func() {
			name := fmt.Sprint("tool-", i)
			got, err := r.Call(ctx, browser(name), tool.Call{Name: name, Args: jsontext.Value(`{}`)})
			if err != nil || !deleted && got.Text != name {
				t.Errorf("%s %s = %+v, %v", session, name, got, err)
			}
		})
		calls.Go(func() { r.Emit(alice, session, "tool_call", members{"requestId": "r"}) })
	}
	for i := range n {
		got := p.event("browser_tool_call")
		if deleted && i == n/2 {
			r.DisconnectSession(alice, session)
			break
		}
		p.send("tool_result", members{"toolCallId": got["toolCallId"], "result": got["toolName"]})
	}
	calls.Wait()
	_ = p.Close()
}

// BenchmarkEmit sends an event to a session with one socket, which reads it.
func BenchmarkEmit(b *testing.B) {
	r := start(b, nil)
	p := r.join(b, hers, "alice")
	payload := members{"requestId": "r", "toolName": "search", "status": "done", "output": strings.Repeat("x", 500)}
	b.ReportAllocs()
	for b.Loop() {
		r.Emit(alice, hers, "tool_call", payload)
		p.event("event")
	}
}

// BenchmarkEmitNobody sends an event to a session without sockets.
func BenchmarkEmitNobody(b *testing.B) {
	r := start(b, nil)
	payload := members{"requestId": "r"}
	b.ReportAllocs()
	for b.Loop() {
		r.Emit(alice, hers, "tool_call", payload)
	}
}

// BenchmarkCall has a page answer a call.
func BenchmarkCall(b *testing.B) {
	r := start(b, nil)
	p := r.join(b, hers, "alice")
	b.ReportAllocs()
	for b.Loop() {
		out := r.asking(b, alice, hers, browser("pick"), `{"a":1}`)
		p.send("tool_result", members{"toolCallId": p.event("browser_tool_call")["toolCallId"], "result": "yes"})
		if got := <-out; got.Text != "yes" {
			b.Fatal(got)
		}
	}
}

// BenchmarkIdle tells what a socket costs that does nothing, both ends and the
// HTTP server included.
func BenchmarkIdle(b *testing.B) {
	r := start(b, func(c *socket.Config) { c.MaxPerUser, c.MaxPerAddress = -1, -1 })
	before := heap()
	n := 0
	for b.Loop() {
		r.join(b, hers, "alice")
		n++
	}
	b.ReportMetric(float64(heap()-before)/float64(n), "B/socket")
}

func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapInuse + m.StackInuse)
}
