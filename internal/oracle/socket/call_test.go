package socket_test

import (
	"context"
	"errors"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/socket"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// TestRoundTrip: a call goes to all tabs with the payload of the document, once
// and flat, and the first answer is its result.
func TestRoundTrip(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		spec   tool.Spec
		event  string
		result string
		id     string
		status any
	}{
		{"browser tool", browser("pick colour"), "browser_tool_call", "tool_result", `^tc-req-1-[0-9a-f]{8}$`, nil},
		{"action", action("buy"), "action_call", "action_call_result", `^ag_req-1_[0-9a-f]{8}$`, "isRunning"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := start(t, nil)
			one, two, stranger := r.join(t, hers, "alice"), r.join(t, hers, "alice"), r.join(t, his, "bob")
			out := r.asking(t, alice, hers, tt.spec, `{"n":1}`)
			got := one.event(tt.event)
			id, _ := got["toolCallId"].(string)
			if !regexp.MustCompile(tt.id).MatchString(id) {
				t.Errorf("toolCallId = %q, want %s", id, tt.id)
			}
			want := members{"sessionId": hers, "requestId": id, "toolCallId": id, "toolName": tt.spec.Name, "args": map[string]any{"n": 1.0}}
			if tt.status != nil {
				want["status"] = tt.status
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s = %v, want %v", tt.event, got, want)
			}
			if got := two.event(tt.event); got["toolCallId"] != id {
				t.Errorf("the other tab was asked for %v, want the same call", got)
			}
			one.quiet() // no envelope: the published client would run it twice
			if got := two.ask(tt.result, members{"toolCallId": id, "sessionId": "$whatever", "result": members{"ok": "first"}}); got["success"] != true {
				t.Errorf("first answer: %v", got)
			}
			if got := one.ask(tt.result, members{"toolCallId": id, "sessionId": hers, "result": "second"}); got["success"] != false {
				t.Errorf("second answer: %v, want it not taken", got)
			}
			if got := wait(t, out); string(got.Data) != `{"ok":"first"}` || got.Err != "" {
				t.Errorf("output = %+v, want the first answer", got)
			}
			one.quiet()
			stranger.quiet()
		})
	}
}

// TestForgedAnswer: an answer counts only from the user and a socket of the
// session the call belongs to (quality D9, oracle-wire.md 10.2).
func TestForgedAnswer(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	a, other, b := r.join(t, hers, "alice"), r.join(t, hers2, "alice"), r.join(t, his, "bob")
	out := r.asking(t, alice, hers, action("buy"), `{}`)
	id := a.event("action_call")["toolCallId"]
	forged := members{"toolCallId": id, "sessionId": hers, "result": "forged"}
	for name, got := range map[string]members{
		"another user":                   b.ask("action_call_result", forged),
		"another user, by the wrong way": b.ask("tool_result", forged),
		"another session of the user":    other.ask("action_call_result", forged),
		"the wrong kind of result":       a.ask("tool_result", forged),
		"an unknown id":                  a.ask("action_call_result", members{"toolCallId": "ag_req-1_00000000", "result": 1}),
	} {
		if got["success"] != false {
			t.Errorf("%s: %v, want it ignored", name, got)
		}
	}
	if got := r.Stats(); got.Ignored != 5 || got.Pending != 1 {
		t.Errorf("after forged answers: %+v, want 5 ignored and the call pending", got)
	}
	a.send("action_call_result", members{"toolCallId": id, "result": "real"})
	if got := wait(t, out); got.Text != "real" {
		t.Errorf("output = %+v", got)
	}
}

// TestParallelCalls: calls of one request have ids of their own, so each gets
// its own answer (oracle-wire.md 10.12).
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p := r.join(t, hers, "alice")
	outs := map[string]<-chan tool.Output{}
	for _, name := range []string{"one", "two", "three"} {
		outs[name] = r.asking(t, alice, hers, browser(name), `{}`)
	}
	ids := map[any]bool{}
	for range outs {
		got := p.event("browser_tool_call")
		ids[got["toolCallId"]] = true
		p.send("tool_result", members{"toolCallId": got["toolCallId"], "result": "result of " + got["toolName"].(string)})
	}
	for name, out := range outs {
		if got := wait(t, out); got.Text != "result of "+name {
			t.Errorf("%s gave %+v", name, got)
		}
	}
	if len(ids) != 3 {
		t.Errorf("%d ids, want 3", len(ids))
	}
}

// TestAnswers: what pages send back and what the model gets of it.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const tools, actions = "browser_tool_call", "action_call"
	for _, tt := range []struct {
		name, event, result, problem string
		text, data, err              string
	}{
		{"text", tools, `"hello"`, ``, "hello", "", ""},
		{"empty text", tools, `""`, ``, "", `""`, ""},
		{"object", tools, `{"a":[1]}`, ``, "", `{"a":[1]}`, ""},
		{"nothing", tools, ``, ``, "", `null`, ""},
		{"null", tools, `null`, `null`, "", `null`, ""},
		{"false is a result", tools, `false`, ``, "", `false`, ""},
		{"error", tools, `null`, `"no camera"`, "", "", "no camera"},
		{"error beside a result", tools, `"x"`, `"no camera"`, "", "", "no camera"},
		{"empty error", tools, `"x"`, `""`, "x", "", ""},
		{"error object", tools, `null`, `{"message":"no camera"}`, "", "", "no camera"},
		{"other error object", tools, `null`, `{"code":7}`, "", "", `{"code":7}`},
		{"error number", tools, `null`, `7`, "", "", `7`},
		{"error true", tools, `null`, `true`, "", "", `Browser tool failed`},
		{"error false", tools, `"x"`, `false`, "x", "", ""},
		{"success:false of a tool is data", tools, `{"success":false}`, ``, "", `{"success":false}`, ""},
		{"action", actions, `{"success":true,"id":1}`, ``, "", `{"success":true,"id":1}`, ""},
		{"failed action", actions, `{"success":false,"error":"sold out"}`, ``, "", "", "sold out"},
		{"failed action with both", actions, `{"success":false,"error":"a"}`, `"b"`, "", "", "b"},
		{"failed action without words", actions, `{"success":false}`, ``, "", "", "Action failed"},
		{"success of another type", actions, `{"success":"no"}`, ``, "", `{"success":"no"}`, ""},
		{"action error true", actions, `null`, `true`, "", "", "Action failed"},
		{"large", tools, `"` + strings.Repeat("x", 256<<10) + `"`, ``, "", "", "The result is larger than 256 KiB."},
		{"long error", tools, `null`, `"` + strings.Repeat("é", 2000) + `"`, "", "", strings.Repeat("é", 1000)},
	} {
		text, data, err := socket.Outcome(tt.event, tt.result, tt.problem)
		if text != tt.text || data != tt.data || err != tt.err {
			t.Errorf("%s: got %q, %q, %q, want %q, %q, %q", tt.name, text, data, err, tt.text, tt.data, tt.err)
		}
	}
}

// TestTimeout: a page that does not answer fails the call in the original's
// words; its late answer is ignored.
func TestTimeout(t *testing.T) {
	t.Parallel()
	r := start(t, func(c *socket.Config) { c.CallTimeout = 30 * time.Millisecond })
	p := r.join(t, hers, "alice")
	own := action("buy")
	own.Timeout = 20 * time.Millisecond
	for _, tt := range []struct {
		spec        tool.Spec
		event, want string
	}{
		{browser("pick"), "browser_tool_call", "Browser tool timeout after 30ms: pick"},
		{own, "action_call", "AG-UI action timeout after 20ms: buy"},
	} {
		out := r.asking(t, alice, hers, tt.spec, `{}`)
		id := p.event(tt.event)["toolCallId"]
		if got := wait(t, out); got.Err != tt.want {
			t.Errorf("call = %+v, want %q", got, tt.want)
		}
		if got := p.ask("tool_result", members{"toolCallId": id, "result": 1}); got["success"] != false {
			t.Errorf("late answer: %v", got)
		}
	}
	if got := r.Stats(); got.Timeouts != 2 || got.Pending != 0 {
		t.Errorf("stats = %+v", got)
	}
	if socket.DefaultCallTimeout != 15*time.Second {
		t.Errorf("the default is %s, want the original's 15 s", socket.DefaultCallTimeout)
	}
}

// TestNobodyThere: a call fails at once when no page of the session could answer
// it.
func TestNobodyThere(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	r.join(t, hers2, "alice")
	r.join(t, his, "bob")
	deaf := r.join(t, hers, "alice")
	deaf.ask("subscribe", members{"events": []string{"tool_call"}})
	for name, session := range map[string]string{"only a filter": hers, "unknown": "$nobody", "somebody else's": his} {
		began := time.Now()
		got := wait(t, r.asking(t, alice, session, browser("pick"), `{}`))
		if got.Err != "No browser is connected to this session, so the tool was not run." || time.Since(began) > 5*time.Second {
			t.Errorf("%s: %+v after %s", name, got, time.Since(began))
		}
	}
	deaf.quiet()
	if got := r.Stats().Alone; got != 3 {
		t.Errorf("%d calls alone, want 3", got)
	}
}

// TestLastPageLeaves: a call fails at once when the last page that heard it
// leaves, not before.
func TestLastPageLeaves(t *testing.T) {
	t.Parallel()
	for name, leave := range map[string]func(*page){
		"closes":  func(p *page) { _ = p.Close() },
		"is cut":  func(p *page) { _ = p.Cut() },
		"filters": func(p *page) { p.ask("subscribe", members{"events": []string{"tool_call"}}) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := start(t, nil)
			one, two := r.join(t, hers, "alice"), r.join(t, hers, "alice")
			r.join(t, hers2, "alice")
			out := r.asking(t, alice, hers, browser("pick"), `{}`)
			one.event("browser_tool_call")
			two.event("browser_tool_call")
			leave(one)
			two.quiet()
			if got := r.Stats().Pending; got != 1 {
				t.Fatalf("%d calls pending while one page is left, want 1", got)
			}
			leave(two)
			if got := wait(t, out); got.Err != "The browser disconnected before it answered." {
				t.Errorf("call = %+v", got)
			}
		})
	}
}

// TestAnswerThenLeave: an answer that came before its page left counts.
func TestAnswerThenLeave(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	for range 20 {
		p := r.join(t, hers, "alice")
		out := r.asking(t, alice, hers, browser("pick"), `{}`)
		p.send("tool_result", members{"toolCallId": p.event("browser_tool_call")["toolCallId"], "result": "yes"})
		_ = p.Close()
		if got := wait(t, out); got.Text != "yes" {
			t.Fatalf("call = %+v, want the answer", got)
		}
		until(t, "the page is forgotten", func() bool { return r.Stats().Sockets == 0 })
	}
}

// TestAbort: a call ends with its turn.
func TestAbort(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p := r.join(t, hers, "alice")
	ctx, cancel := context.WithCancelCause(about(t.Context(), alice, hers))
	done := make(chan error, 1)
	go func() {
		_, err := r.Call(ctx, browser("pick"), tool.Call{Name: "pick"})
		done <- err
	}()
	id := p.event("browser_tool_call")["toolCallId"]
	aborted := errors.New("aborted")
	cancel(aborted)
	if err := wait(t, done); !errors.Is(err, aborted) {
		t.Errorf("Call() error = %v, want %v", err, aborted)
	}
	if got := p.ask("tool_result", members{"toolCallId": id, "result": 1}); got["success"] != false {
		t.Errorf("answer after the abort: %v", got)
	}
	if got := r.Stats().Pending; got != 0 {
		t.Errorf("%d calls pending", got)
	}
}

// TestRender: an action with a component of its own shows it beside its one
// action_call, and says when it is done, however it ends.
func TestRender(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	p := r.join(t, hers, "alice")
	for _, tt := range []struct {
		name   string
		answer members
		err    string
	}{
		{"good", members{"result": "ok"}, ""},
		{"failed", members{"result": members{"success": false, "error": "sold out"}, "error": "sold out"}, "sold out"},
	} {
		spec := action("chart")
		spec.HasRender = true
		out := r.asking(t, alice, hers, spec, `{"x":1}`)
		got := p.hear(3)
		id := got[2].Payload["toolCallId"]
		shown := members{"sessionId": hers, "requestId": "req-1", "componentName": "chart", "args": map[string]any{"x": 1.0}, "status": "isRunning", "eventId": id}
		if !reflect.DeepEqual(got[0].Payload, shown) || got[0].Name != "render_component" || got[1].Name != "event" || got[2].Name != "action_call" {
			t.Errorf("%s: heard %v, want render_component %v, its envelope, action_call", tt.name, got, shown)
		}
		tt.answer["toolCallId"] = id
		p.send("action_call_result", tt.answer)
		if got := wait(t, out); got.Err != tt.err {
			t.Errorf("%s: output = %+v", tt.name, got)
		}
		shown["status"] = "done"
		if got := p.hear(2); !reflect.DeepEqual(got[0].Payload, shown) {
			t.Errorf("%s: heard %v, want %v", tt.name, got, shown)
		}
		p.quiet()
	}
	spec := browser("chart")
	spec.HasRender = true // only actions have components
	r.asking(t, alice, hers, spec, ``)
	if name, got := p.next(); name != "browser_tool_call" || !reflect.DeepEqual(got["args"], map[string]any{}) {
		t.Errorf("heard %s %v, want browser_tool_call with no arguments", name, got)
	}
}

// TestPartAnswersNoQuestion: a page that came with a part of its user's rights
// answers actions, but not whether a tool may run.
func TestPartAnswersNoQuestion(t *testing.T) {
	t.Parallel()
	r := start(t, nil)
	whole := r.join(t, hers, "alice")
	r.stays(func(string) socket.Guest { return socket.Guest{Part: true} })
	part := r.join(t, hers, "alice")
	out := r.asking(t, alice, hers, action(tool.ConfirmName), `{}`)
	id := whole.event("action_call")["toolCallId"]
	part.ask("action_call_result", members{"toolCallId": id, "result": members{"confirmed": true}})
	if got := r.Stats(); got.Pending != 1 || got.Exceptions != 1 {
		t.Errorf("after the answer of a part: %+v, want the question pending", got)
	}
	whole.send("action_call_result", members{"toolCallId": id, "result": members{"confirmed": false}})
	if got := wait(t, out); string(got.Data) != `{"confirmed":false}` {
		t.Errorf("output = %+v, want the answer of the whole user", got)
	}
	out = r.asking(t, alice, hers, action("buy"), `{}`)
	part.send("action_call_result", members{"toolCallId": whole.event("action_call")["toolCallId"], "result": "bought"})
	if got := wait(t, out); got.Text != "bought" {
		t.Errorf("output = %+v, want the answer of the page", got)
	}
}
