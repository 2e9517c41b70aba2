package agent_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
	"pgregory.net/rapid"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// badTools are tools of every temper. Those that wait stop the turn first, so
// that nothing waits for a clock.
func badTools(stop func(), release <-chan struct{}) []tool.Tool {
	out := []tool.Tool{
		echo("echo"),
		does("strict", `{"properties":{"n":{"type":"integer"}},"required":["n"]}`, echo("").Do),
		does("fault", "", func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{}, fault.New(fault.Conflict, "X", "It clashes.")
		}),
		does("error", "", func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{}, errors.New("secret") }),
		does("panic", "", func(context.Context, tool.Call) (tool.Output, error) { panic("secret") }),
		does("polite", "", func(ctx context.Context, _ tool.Call) (tool.Output, error) {
			stop()
			<-ctx.Done()
			return tool.Output{}, ctx.Err()
		}),
		does("deaf", "", func(context.Context, tool.Call) (tool.Output, error) {
			stop()
			<-release
			return tool.Output{Text: "late"}, nil
		}),
	}
	for name, kind := range map[string]tool.Kind{"browser": tool.Browser, "action": tool.Action} {
		t := does(name, "", func(_ context.Context, c tool.Call) (tool.Output, error) {
			return tool.Output{Err: "No browser connected."}, nil
		})
		t.Describe.Kind = kind
		out = append(out, t)
	}
	return out
}

func answers() *rapid.Generator[modeltest.Answer] {
	names := []string{"echo", "echo", "strict", "fault", "error", "panic", "polite", "deaf", "browser", "action", "unknown", ""}
	args := []string{`{}`, `{"n":1}`, `{"n":2}`, "{\"n\":\n3}", `{"n":"x"}`, `[]`, `{`, ``, "\xff"}
	return rapid.Custom(func(t *rapid.T) modeltest.Answer {
		var a modeltest.Answer
		for range rapid.IntRange(0, 4).Draw(t, "deltas") {
			d := llm.Delta{
				Text: rapid.SampledFrom([]string{"", "a ", "b"}).Draw(t, "text"), Reasoning: rapid.SampledFrom([]string{"", "", "hm"}).Draw(t, "reasoning"),
			}
			for range rapid.SampledFrom([]int{0, 0, 1, 1, 3, 30}).Draw(t, "calls") {
				d.ToolCalls = append(d.ToolCalls, tool.Call{
					ID: rapid.SampledFrom([]string{"", "x", "y"}).Draw(t, "id"), Name: rapid.SampledFrom(names).Draw(t, "name"),
					Args: jsontext.Value(rapid.SampledFrom(args).Draw(t, "args")),
				})
			}
			a.Deltas = append(a.Deltas, d)
		}
		switch rapid.IntRange(0, 9).Draw(t, "end") {
		case 0:
			a.Err = &llm.Error{Kind: llm.Network}
		case 1:
			a.Err = &llm.Error{Kind: llm.Unknown, TooLong: true}
		case 2:
			a.Hang = true
		}
		return a
	})
}

// TestMessagesAreAlwaysWellFormed plays random scripts of calls, failures and
// aborts: whatever happens, every call has exactly one result in its place and
// every started tool is ended.
func TestMessagesAreAlwaysWellFormed(t *testing.T) {
	t.Parallel()
	stopped := errors.New("stopped")
	rapid.Check(t, func(rt *rapid.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		defer cancel(nil)
		stop := func() { cancel(stopped) }
		release := make(chan struct{})
		script := modeltest.NewFake(rapid.SliceOfN(answers(), 1, 6).Draw(rt, "answers")...)
		script.OnHang = stop
		m := llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
			if why := sendable(r.Messages); why != "" {
				rt.Errorf("the model was given a conversation that is not well-formed: %s", why)
			}
			return script.Stream(ctx, r, each)
		})
		events, at := 0, rapid.IntRange(0, 60).Draw(rt, "stop after")
		e := &ear{on: func(string) {
			if events++; events == at {
				stop()
			}
		}}
		if rapid.Bool().Draw(rt, "sink fails") {
			e.fail = map[string]error{rapid.SampledFrom([]string{"text", "reasoning", "start", "end", "router"}).Draw(rt, "at"): errors.New("disk full")}
		}
		a := agent.New(agent.Config{Model: m})
		r, err := a.Turn(ctx, agent.Turn{
			User: said("x"), Tools: badTools(stop, release), History: []llm.Message{said("old"), {Role: llm.Assistant, ToolCalls: []tool.Call{{ID: "lost", Name: "echo"}}}},
			Limits: agent.Limits{Rounds: rapid.IntRange(1, 5).Draw(rt, "rounds"), Calls: rapid.IntRange(1, 10).Draw(rt, "calls"), ContextTokens: rapid.SampledFrom([]int{10, 1000, 100_000}).Draw(rt, "context")},
		}, e)
		close(release)
		if why := wellFormed(r.Messages); why != "" {
			rt.Errorf("messages are not well-formed: %s", why)
		}
		e.closed(rt)
		if r.Text != e.text.String() {
			rt.Errorf("text = %q, the sink heard %q", r.Text, e.text.String())
		}
		if err == nil && r.Text == "" {
			rt.Errorf("a turn without an error has no text")
		}
		if wait := a.Wait(t.Context()); wait != nil {
			rt.Errorf("Wait = %v", wait)
		}
	})
}

// sendable says why a server would refuse messages.
func sendable(messages []llm.Message) string {
	for i := 0; i < len(messages); {
		m := messages[i]
		i++
		if m.Role == llm.Tool {
			return "message " + strconv.Itoa(i-1) + " is a result without a call"
		}
		for _, c := range m.ToolCalls {
			if i == len(messages) || messages[i].ToolCallID != c.ID {
				return "a call of message " + strconv.Itoa(i-1) + " has no result"
			}
			i++
		}
	}
	return ""
}
