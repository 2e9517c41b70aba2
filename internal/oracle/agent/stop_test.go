package agent_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// TestToolTimeout has a tool that does not listen: it holds nobody up.
func TestToolTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		deaf := does("deaf", "", func(context.Context, tool.Call) (tool.Output, error) {
			<-release
			return tool.Output{Text: "too late"}, nil
		})
		polite := does("polite", "", func(ctx context.Context, _ tool.Call) (tool.Output, error) {
			<-ctx.Done()
			return tool.Output{}, ctx.Err()
		})
		polite.Describe.Timeout = 2 * time.Second
		client := does("client", "", func(ctx context.Context, _ tool.Call) (tool.Output, error) {
			select {
			case <-time.After(5 * time.Second):
				return tool.Output{Err: "AG-UI action timeout after 5000ms: client"}, nil
			case <-ctx.Done():
				return tool.Output{}, ctx.Err()
			}
		})
		client.Describe.Timeout, client.Describe.Kind = 5*time.Second, tool.Browser
		f := modeltest.NewFake(modeltest.Called(call("deaf", "{}"), call("polite", "{}"), call("client", "{}")), modeltest.Spoken("ok"))
		start := time.Now()
		e := &ear{}
		a := agent.New(agent.Config{Model: f})
		r, err := a.Turn(t.Context(), agent.Turn{User: said("x"), Tools: []tool.Tool{deaf, polite, client}}, e)
		check(t, r, e)
		if took := time.Since(start); err != nil || took != 30*time.Second {
			t.Errorf("took %v, %v", took, err)
		}
		wantLines(t, e, "start deaf{}", "start polite{}", "start client{}", "end polite error The tool did not answer within 2s.",
			"end client error AG-UI action timeout after 5000ms: client", "end deaf error The tool did not answer within 30s.")
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := a.Wait(ctx); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Wait = %v while a tool runs, want a deadline", err)
		}
		close(release)
		if err := a.Wait(t.Context()); err != nil {
			t.Errorf("Wait = %v", err)
		}
		if strings.Contains(r.Messages[1].Content, "too late") {
			t.Errorf("result = %+v", r.Messages[1])
		}
	})
}

func TestAbortWhileToolsRun(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("stopped by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		release := make(chan struct{})
		wait := func(_ context.Context, c tool.Call) (tool.Output, error) {
			if string(c.Args) == `{"n":2}` {
				return tool.Output{Text: "quick"}, nil
			}
			<-release
			return tool.Output{}, nil
		}
		slow, action := does("slow", "", wait), does("act", "", wait)
		action.Describe.Kind = tool.Action
		f := modeltest.NewFake(modeltest.Answer{Deltas: []llm.Delta{{Text: "One moment."}, {ToolCalls: []tool.Call{call("slow", `{"n":1}`), call("slow", `{"n":2}`), call("act", "{}")}}}})
		e := &ear{on: func(line string) {
			if line == "end slow done quick" {
				cancel(stopped)
			}
		}}
		a := agent.New(agent.Config{Model: f})
		r, err := a.Turn(ctx, agent.Turn{User: said("x"), Tools: []tool.Tool{slow, action}}, e)
		check(t, r, e)
		if !errors.Is(err, stopped) || r.Text != "One moment." {
			t.Errorf("result = %+v, %v, want the cause", r, err)
		}
		wantLines(t, e, "router ag-ui_agent", `start slow{"n":1}`, `start slow{"n":2}`, "start act{}", "end slow done quick",
			"end slow error Tool did not complete", "end act error Action did not complete", "router main_agent")
		if m := r.Messages; len(m) != 4 || m[2].Content != "quick" || m[2].Failed || !m[1].Failed || !m[3].Failed {
			t.Errorf("messages = %+v", m)
		}
		close(release)
		if err := a.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// TestAbortReachesTheModel stops a turn in the middle of a stream over a real
// connection: the server notices at once.
func TestAbortReachesTheModel(t *testing.T) {
	t.Parallel()
	s := modeltest.Start(modeltest.Script{modeltest.Text("half an "), modeltest.Hang()})
	t.Cleanup(s.Close)
	a := agent.New(agent.Config{Model: llm.NewClient(llm.Config{BaseURL: s.URL, Default: "m", HTTP: s.Client()})})
	ctx, cancel := context.WithCancel(t.Context())
	e := &ear{on: func(line string) {
		if line == "text an " {
			cancel()
		}
	}}
	r, err := a.Turn(ctx, agent.Turn{User: said("x")}, e)
	check(t, r, e)
	if !errors.Is(err, context.Canceled) || r.Text != "half an " || len(r.Messages) != 1 || r.Messages[0].Content != "half an " {
		t.Errorf("result = %+v, %v", r, err)
	}
	if r.Usage.Input == 0 || r.Usage.Output == 0 { // its server would have counted at the end
		t.Errorf("what was said before the abort cost nothing: %+v", r.Usage)
	}
	select {
	case <-s.Gone():
	case <-time.After(30 * time.Second): // it would for ever
		t.Error("the server still works after the abort")
	}
}

func TestWholeTurnOverTheWire(t *testing.T) {
	t.Parallel()
	s := modeltest.Start(
		modeltest.Script{modeltest.Refuse(503, "x", "", "0")},
		modeltest.Use(modeltest.Call{ID: "1", Name: "echo", Args: `{"n":1}`}, modeltest.Call{ID: "1", Name: "echo", Args: `{"n":2}`}), modeltest.Say("Done."))
	t.Cleanup(s.Close)
	a := agent.New(agent.Config{Model: llm.NewClient(llm.Config{BaseURL: s.URL, Default: "m", HTTP: s.Client(), Backoff: time.Millisecond})})
	e := &ear{}
	r, err := a.Turn(t.Context(), agent.Turn{User: said("x"), Tools: []tool.Tool{echo("echo")}}, e)
	check(t, r, e)
	if err != nil || r.Text != "Done." || r.Calls != 2 || r.Usage.Input != 14 {
		t.Errorf("result = %+v, %v", r, err)
	}
	last := s.Requests()[2]
	if n := len(last.Messages); n != 5 || last.Messages[3].ToolCallID != last.Messages[2].ToolCalls[0].ID || last.Messages[4].ToolCallID != last.Messages[2].ToolCalls[1].ID {
		t.Errorf("last request = %s", last.Body)
	}
}

func TestOfflineTurn(t *testing.T) {
	t.Parallel()
	a := agent.New(agent.Config{Model: llm.Offline{}})
	e := &ear{}
	r, err := a.Turn(t.Context(), agent.Turn{User: said(`/tools [{"name":"echo","args":{"n":1}},{"name":"nope"}]`), Tools: []tool.Tool{echo("echo")}}, e)
	check(t, r, e)
	if err != nil || !strings.Contains(r.Text, "echo answered:\n{\"n\":1}") || !strings.Contains(r.Text, "nope failed: There is no tool of this name.") {
		t.Errorf("result = %+v, %v", r, err)
	}
}
