package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// sub is a tool that runs a sub-agent on {"task":…}.
func sub(b *tool.Brief) tool.Tool {
	return tool.Func{Describe: tool.Spec{Name: "call_" + b.Step, ReadOnly: true, Sub: b.Step}, Do: func(ctx context.Context, c tool.Call) (tool.Output, error) {
		return tool.Nest(ctx, b, string(c.Args))
	}}
}

// cast is a model that plays several agents, each by its system prompt.
func cast(parts map[string]*modeltest.Fake) llm.Model {
	return llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
		for name, f := range parts {
			if strings.HasPrefix(r.Messages[0].Content, name) {
				return f.Stream(ctx, r, each)
			}
		}
		return errors.New("nobody is asked")
	})
}

func counted(a modeltest.Answer, n int) modeltest.Answer {
	a.Deltas = append(a.Deltas, llm.Delta{Usage: &llm.Usage{Input: n, Output: 1}})
	return a
}

// A sub-agent has its own words, tools and messages; what it says is the output of
// the call, and what it costs is part of the turn.
func TestSubAgent(t *testing.T) {
	t.Parallel()
	main := modeltest.NewFake(counted(modeltest.Called(call("call_care_agent", `{"task":"look"}`)), 10), counted(modeltest.Spoken("All is well."), 10))
	care := modeltest.NewFake(counted(modeltest.Called(call("inspect", `{}`), call("shared", `{}`), call("secret", `{}`)), 100), counted(modeltest.Spoken("Looked."), 100))
	var readied atomic.Int32
	e := &ear{}
	r, err := agent.New(agent.Config{Model: cast(map[string]*modeltest.Fake{"main": main, "care": care})}).Turn(t.Context(), agent.Turn{
		System: "main", User: said("hello"), History: []llm.Message{said("before")},
		Tools: []tool.Tool{echo("shared"), echo("secret"), sub(&tool.Brief{Step: "care_agent", System: "care", Tools: []tool.Tool{echo("inspect")}, Uses: []string{"shared", "none"}})},
		Ready: func(tools []tool.Tool) []tool.Tool { readied.Add(int32(len(tools))); return tools },
	}, e)
	if err != nil || r.Text != "All is well." || r.Usage.Input != 220 || r.Usage.Output != 4 || readied.Load() != 1 {
		t.Errorf("result = %+v, %v, %d tools made ready", r, err, readied.Load())
	}
	check(t, r, e)
	if lines := strings.Join(e.lines, "\n"); !strings.HasPrefix(lines, "router care_agent\nstart call_care_agent") || !strings.HasSuffix(lines, "end call_care_agent done Looked.\nrouter main_agent") ||
		!strings.Contains(lines, "start inspect{}") || !strings.Contains(lines, "end secret error There is no tool of this name.") || strings.Count(lines, "router") != 2 {
		t.Errorf("heard:\n%s", lines)
	}
	if len(r.Messages) != 3 || r.Messages[1].Content != "Looked." {
		t.Errorf("stored: %+v", r.Messages)
	}
	asked := care.Requests()[0]
	if len(asked.Messages) != 2 || asked.Messages[1].Content != `{"task":"look"}` || len(asked.Tools) != 2 {
		t.Errorf("the sub-agent was asked %+v", asked)
	}
}

// Agents that call each other do not do so for ever.
func TestSubAgentsAreNotEndless(t *testing.T) {
	t.Parallel()
	var rounds atomic.Int32
	m := llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
		rounds.Add(1)
		if last := r.Messages[len(r.Messages)-1]; last.Role == llm.Tool {
			return each(llm.Delta{Text: last.Content})
		}
		return each(llm.Delta{ToolCalls: []tool.Call{call("call_loop_agent", `{"task":"again"}`)}})
	})
	loop := &tool.Brief{Step: "loop_agent", System: "loop", Uses: []string{"call_loop_agent"}}
	r, _, err := turn(t, m, agent.Turn{Tools: []tool.Tool{sub(loop)}})
	if err != nil || !strings.Contains(r.Text, "at most three deep") || rounds.Load() != 8 {
		t.Errorf("result = %+v, %v after %d rounds", r, err, rounds.Load())
	}
	wide := llm.Func(func(_ context.Context, r llm.Request, each func(llm.Delta) error) error {
		if strings.HasPrefix(r.Messages[0].Content, "leaf") || len(r.Messages) > 2 {
			return each(llm.Delta{Text: "ok"})
		}
		var calls []tool.Call
		for i := range 25 {
			calls = append(calls, call("call_leaf_agent", `{"task":"`+strings.Repeat("x", i)+`"}`))
		}
		return each(llm.Delta{ToolCalls: calls})
	})
	_, e, err := turn(t, wide, agent.Turn{System: "main", Tools: []tool.Tool{sub(&tool.Brief{Step: "leaf_agent", System: "leaf"})}})
	if n := strings.Count(strings.Join(e.lines, "\n"), "The limit of 20 calls of agents"); err != nil || n != 5 {
		t.Errorf("%d of 25 agents were refused, %v", n, err)
	}
}

// The budget of a sub-agent ends it, not the turn.
func TestSubAgentBudget(t *testing.T) {
	t.Parallel()
	again := func(n int) modeltest.Answer {
		return counted(modeltest.Called(call("inspect", `{"n":`+strings.Repeat("1", n)+`}`)), 400)
	}
	for name, tt := range map[string]struct {
		b    tool.Brief
		care *modeltest.Fake
		want string
	}{
		"rounds": {tool.Brief{Rounds: 2}, modeltest.NewFake(again(1), again(2)), "I could not finish this within the limits"},
		"tokens": {tool.Brief{Tokens: 900}, modeltest.NewFake(again(1), again(2), modeltest.Spoken("As far as I got.")), "As far as I got."},
		"broke":  {tool.Brief{Tokens: 300}, modeltest.NewFake(again(1), modeltest.Spoken("too late")), "I could not finish this within the limits"},
		"time":   {tool.Brief{Time: 20 * time.Millisecond}, modeltest.NewFake(modeltest.Answer{Deltas: []llm.Delta{{Text: "Well,"}}, Hang: true}), "The agent did not finish within 20ms. It has said: Well,"},
		"failed": {tool.Brief{}, modeltest.NewFake(modeltest.Answer{Err: &llm.Error{Kind: llm.Network}}), llm.Explain(&llm.Error{Kind: llm.Network}).Text},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			main := modeltest.NewFake(modeltest.Called(call("call_care_agent", `{"task":"look"}`)), modeltest.Spoken("ok"))
			b := tt.b
			b.Step, b.System, b.Tools = "care_agent", "care", []tool.Tool{echo("inspect")}
			r, _, err := turn(t, cast(map[string]*modeltest.Fake{"main": main, "care": tt.care}), agent.Turn{System: "main", Tools: []tool.Tool{sub(&b)}})
			if err != nil || r.Text != "ok" || !strings.Contains(r.Messages[1].Content, tt.want) {
				t.Errorf("result = %+v, %v, want %q in the output", r, err, tt.want)
			}
		})
	}
}

// The time of a sub-agent stands while a person may be asked.
func TestSubAgentWaitsForPeople(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		burn := tool.Func{Describe: tool.Spec{Name: "burn"}, Do: func(ctx context.Context, _ tool.Call) (tool.Output, error) {
			select {
			case <-time.After(20 * time.Second):
			case <-ctx.Done():
			}
			return tool.Output{Text: "burnt"}, ctx.Err()
		}}
		main := modeltest.NewFake(modeltest.Called(call("call_care_agent", `{"task":"look"}`)), modeltest.Spoken("ok"))
		care := modeltest.NewFake(modeltest.Called(call("burn", `{}`)), modeltest.Spoken("Done."))
		b := &tool.Brief{Step: "care_agent", System: "care", Tools: []tool.Tool{burn}, Time: time.Second}
		r, _, err := turn(t, cast(map[string]*modeltest.Fake{"main": main, "care": care}), agent.Turn{System: "main", Tools: []tool.Tool{sub(b)}})
		if err != nil || r.Messages[1].Content != "Done." {
			t.Errorf("result = %+v, %v", r, err)
		}
	})
}

// An abort ends the sub-agent and what it has begun, and nothing is heard of either
// afterwards.
func TestSubAgentIsAborted(t *testing.T) {
	t.Parallel()
	ctx, abort := context.WithCancelCause(t.Context())
	why := errors.New("aborted")
	slow := tool.Func{Describe: tool.Spec{Name: "slow", ReadOnly: true}, Do: func(ctx context.Context, _ tool.Call) (tool.Output, error) {
		abort(why)
		<-ctx.Done()
		return tool.Output{}, ctx.Err()
	}}
	main := modeltest.NewFake(counted(modeltest.Called(call("call_care_agent", `{"task":"look"}`)), 5))
	care := modeltest.NewFake(counted(modeltest.Called(call("slow", `{}`)), 7))
	b := &tool.Brief{Step: "care_agent", System: "care", Tools: []tool.Tool{slow}}
	e := &ear{}
	a := agent.New(agent.Config{Model: cast(map[string]*modeltest.Fake{"main": main, "care": care})})
	r, err := a.Turn(ctx, agent.Turn{System: "main", User: said("x"), Tools: []tool.Tool{sub(b)}}, e)
	if !errors.Is(err, why) || r.Usage.Input != 12 {
		t.Errorf("result = %+v, %v", r, err)
	}
	check(t, r, e)
	if lines := strings.Join(e.lines, "\n"); !strings.Contains(lines, "end slow error Tool did not complete") || !strings.Contains(lines, "end call_care_agent error Tool did not complete") {
		t.Errorf("heard:\n%s", lines)
	}
	if err := a.Wait(t.Context()); err != nil {
		t.Error(err)
	}
}

// Outside a turn there is nothing an agent could be nested in.
func TestNoTurnNoSubAgent(t *testing.T) {
	t.Parallel()
	out, err := sub(&tool.Brief{Step: "care_agent"}).Run(t.Context(), tool.Call{Args: jsontext.Value(`{}`)})
	if err != nil || out.Err != "An agent can only be called in a conversation." {
		t.Errorf("Run() = %+v, %v", out, err)
	}
}
