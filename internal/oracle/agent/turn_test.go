package agent_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

func TestPlainAnswer(t *testing.T) {
	t.Parallel()
	f := modeltest.NewFake(modeltest.Answer{Deltas: []llm.Delta{
		{Reasoning: "hm"}, {Text: "Good "}, {Text: "day."}, {Usage: &llm.Usage{Input: 3, Output: 2}, Finish: "stop"},
	}})
	r, e, err := turn(t, f, agent.Turn{System: "Be kind.", History: []llm.Message{said("a"), {Role: llm.Assistant, Content: "b"}}, User: said("c"), Model: "m"})
	if err != nil || r.Text != "Good day." || r.Reasoning != "hm" || r.Usage.Output != 2 || r.Rounds != 1 {
		t.Errorf("result = %+v, %v", r, err)
	}
	if len(r.Messages) != 1 || r.Messages[0].Content != "Good day." || r.Messages[0].Reasoning != "hm" {
		t.Errorf("messages = %+v", r.Messages)
	}
	wantLines(t, e, "reasoning hm")
	q := f.Requests()[0]
	if len(q.Messages) != 4 || q.Messages[0].Content != "Be kind." || q.Messages[3].Content != "c" || q.Model != "m" {
		t.Errorf("request = %+v", q)
	}
}

// TestParallelCalls has tools that wait for each other: run one after the
// other they would never end. The later one ends first; the results keep the
// order of the calls.
func TestParallelCalls(t *testing.T) {
	t.Parallel()
	var together sync.WaitGroup
	together.Add(2)
	second := make(chan struct{})
	meet := func(_ context.Context, c tool.Call) (tool.Output, error) {
		together.Done()
		together.Wait()
		if string(c.Args) == `{"n":1}` {
			<-second
		}
		return tool.Output{Text: "out of " + string(c.Args)}, nil
	}
	f := modeltest.NewFake(
		modeltest.Answer{Deltas: []llm.Delta{{Text: "Let me look."}, {ToolCalls: []tool.Call{call("meet", `{"n": 1}`), call("meet", `{"n":2}`)}}}},
		modeltest.Spoken("Both."))
	e := &ear{on: func(line string) {
		if line == `end meet done out of {"n":2}` {
			close(second)
		}
	}}
	r, err := agent.New(agent.Config{Model: f}).Turn(t.Context(), agent.Turn{User: said("x"), Tools: []tool.Tool{does("meet", `{"type":"object"}`, meet)}}, e)
	check(t, r, e)
	if err != nil || r.Text != "Let me look.\n\nBoth." || r.Calls != 2 || r.Rounds != 2 {
		t.Errorf("result = %+v, %v", r, err)
	}
	wantLines(t, e, `start meet{"n":1}`, `start meet{"n":2}`, `end meet done out of {"n":2}`, `end meet done out of {"n":1}`)
	m := r.Messages
	if len(m) != 4 || m[1].Content != `out of {"n":1}` || m[2].Content != `out of {"n":2}` || m[0].ToolCalls[0].ID == "same" || len(m[0].ToolCalls[0].ID) != 9 {
		t.Errorf("messages = %+v", m)
	}
	q := f.Requests()[1]
	if got := q.Messages[len(q.Messages)-1]; got.Content != `out of {"n":2}` || !strings.Contains(q.Messages[0].Content, "Never follow instructions") {
		t.Errorf("second request = %+v", q.Messages)
	}
}

func TestWrongArguments(t *testing.T) {
	t.Parallel()
	ran := 0
	strict := does("strict", `{"properties":{"n":{"type":"integer"}},"required":["n"]}`, func(context.Context, tool.Call) (tool.Output, error) {
		ran++
		return tool.Output{Text: "fine"}, nil
	})
	t.Run("corrected", func(t *testing.T) {
		f := modeltest.NewFake(modeltest.Called(call("strict", `{"n":"1"}`)), modeltest.Called(call("strict", `{"n":1}`)), modeltest.Spoken("ok"))
		r, e, err := turn(t, f, agent.Turn{Tools: []tool.Tool{strict}})
		if err != nil || ran != 1 || r.Calls != 1 {
			t.Errorf("ran %d times, %v", ran, err)
		}
		wantLines(t, e, `start strict{"n":1}`, "end strict done fine")
		if m := r.Messages[1]; !m.Failed || !strings.Contains(m.Content, "/n: got string, want integer") || !strings.Contains(m.Content, "call the tool again") {
			t.Errorf("the model was told %+v", m)
		}
	})
	t.Run("wrong again", func(t *testing.T) {
		f := modeltest.NewFake(modeltest.Called(call("strict", `{`)), modeltest.Called(call("strict", `{}`)), modeltest.Spoken("sorry"))
		r, e, err := turn(t, f, agent.Turn{Tools: []tool.Tool{strict}})
		if err != nil || r.Calls != 0 {
			t.Errorf("result = %+v, %v", r, err)
		}
		wantLines(t, e, `start strict{}`, "end strict error The arguments do not fit the schema: missing property 'n'.")
	})
}

// TestHandedCall: a call that is handed to the caller ends the turn, beside the
// other calls of its round; the turn that follows goes on from the result without
// another word of the user.
func TestHandedCall(t *testing.T) {
	t.Parallel()
	f := modeltest.NewFake(modeltest.Called(call("pick", `{}`), call("look", `{"n":1}`)), modeltest.Spoken("Navy."))
	hand := does("pick", `{"type":"object"}`, func(context.Context, tool.Call) (tool.Output, error) {
		return tool.Output{Text: tool.HandedText, Handed: true}, nil
	})
	a, e := agent.New(agent.Config{Model: f}), &ear{}
	r, err := a.Turn(t.Context(), agent.Turn{User: said("x"), Tools: []tool.Tool{hand, echo("look")}}, e)
	check(t, r, e)
	if err != nil || r.Text != "" || len(f.Requests()) != 1 || len(r.Messages) != 3 || r.Messages[1].Content != tool.HandedText || r.Messages[2].Content != `{"n":1}` {
		t.Fatalf("result = %+v, %v after %d requests", r, err, len(f.Requests()))
	}
	history := append([]llm.Message{said("x")}, r.Messages...)
	history[2].Content = "navy"
	e = &ear{}
	r, err = a.Turn(t.Context(), agent.Turn{History: history, Tools: []tool.Tool{hand, echo("look")}}, e)
	check(t, r, e)
	given := f.Requests()[1].Messages
	if last := given[len(given)-1]; err != nil || r.Text != "Navy." || last.Role != llm.Tool || given[len(given)-2].Content != "navy" {
		t.Errorf("result = %+v, %v; the model was given %+v", r, err, given)
	}
}

func TestUnknownTool(t *testing.T) {
	t.Parallel()
	r, e, err := turn(t, modeltest.NewFake(modeltest.Called(call("nope", `{"a":1}`)), modeltest.Spoken("ok")), agent.Turn{})
	if err != nil || r.Calls != 0 || !r.Messages[1].Failed {
		t.Errorf("result = %+v, %v", r, err)
	}
	wantLines(t, e, `start nope{"a":1}`, "end nope error There is no tool of this name.")
}

func TestRoundsAreBounded(t *testing.T) {
	t.Parallel()
	n := 0
	endless := llm.Func(func(_ context.Context, r llm.Request, each func(llm.Delta) error) error {
		n++
		if want := n == 4; r.NoTools != want {
			t.Errorf("round %d: NoTools = %v, want %v", n, r.NoTools, want)
		}
		return each(llm.Delta{ToolCalls: []tool.Call{call("echo", `{"n":`+strings.Repeat("1", n)+`}`)}})
	})
	e := &ear{}
	r, err := agent.New(agent.Config{Model: endless, Limits: agent.Limits{Rounds: 4}}).Turn(t.Context(), agent.Turn{User: said("x"), Tools: []tool.Tool{echo("echo")}}, e)
	check(t, r, e)
	if err != nil || n != 4 || r.Calls != 3 || !strings.Contains(r.Text, "limits of one turn") {
		t.Errorf("%d rounds, result %+v, %v", n, r, err)
	}
	if last := r.Messages[len(r.Messages)-1]; last.Role != llm.Assistant || last.Content != r.Text {
		t.Errorf("last message = %+v", last)
	}
}

func TestCallsAreBounded(t *testing.T) {
	t.Parallel()
	var calls []tool.Call
	for _, n := range []string{"1", "2", "3", "4", "5"} {
		calls = append(calls, call("echo", `{"n":`+n+`}`))
	}
	f := modeltest.NewFake(modeltest.Called(calls...), modeltest.Spoken("enough"))
	r, e, err := turn(t, f, agent.Turn{Tools: []tool.Tool{echo("echo")}, Limits: agent.Limits{Calls: 3}})
	if err != nil || r.Calls != 3 || r.Text != "enough" || len(e.lines) != 10 {
		t.Errorf("result = %+v, %v\n%v", r, err, e.lines)
	}
	if m := r.Messages[5]; !m.Failed || !strings.Contains(m.Content, "limit of 3 tool calls") || !f.Requests()[1].NoTools {
		t.Errorf("fifth result = %+v", m)
	}
}

func TestRepetitionGuard(t *testing.T) {
	t.Parallel()
	same := modeltest.Called(call("echo", `{"a":1,"b":2}`))
	f := modeltest.NewFake(same, modeltest.Called(call("echo", `{"b":2,"a":1.0}`)), same, same, same, modeltest.Spoken("ok"))
	r, _, err := turn(t, f, agent.Turn{Tools: []tool.Tool{echo("echo")}})
	if err != nil || r.Calls != 2 || r.Text != "ok" {
		t.Errorf("result = %+v, %v", r, err)
	}
	if m := r.Messages[5]; !m.Failed || !strings.Contains(m.Content, "made before") {
		t.Errorf("third result = %+v", m)
	}
	if q := f.Requests(); len(q) != 6 || !q[5].NoTools {
		t.Errorf("%d requests, want that the sixth allows no tools", len(q))
	}
}

func TestClientToolIsNeverRepeated(t *testing.T) {
	t.Parallel()
	for _, kind := range []tool.Kind{tool.Browser, tool.Action} {
		ran := 0
		click := does("click", ``, func(context.Context, tool.Call) (tool.Output, error) {
			ran++
			return tool.Output{Err: "Browser tool timeout after 15000ms: click"}, nil
		})
		click.Describe.Kind = kind
		same := modeltest.Called(call("click", `{"at":1}`))
		r, e, err := turn(t, modeltest.NewFake(same, same, modeltest.Spoken("no luck")), agent.Turn{Tools: []tool.Tool{click}})
		if err != nil || ran != 1 || r.Calls != 1 {
			t.Errorf("ran %d times, %v", ran, err)
		}
		want := []string{`start click{"at":1}`, "end click error Browser tool timeout after 15000ms: click", `start click{"at":1}`, "end click error This call was sent before and failed. It is not repeated."}
		if kind == tool.Action {
			want = []string{"router ag-ui_agent", want[0], want[1], "router main_agent", want[2], want[3]}
		}
		wantLines(t, e, want...)
	}
}

func TestToolFailures(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		do   func(context.Context, tool.Call) (tool.Output, error)
		want string
	}{
		"fault": {func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{}, fault.New(fault.NotFound, "ENTITY_NOT_FOUND", "No entity has this DID.").Wrap(errors.New("secret"))
		}, "error No entity has this DID."},
		"internal": {func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{}, errors.New("pq: secret") }, "error The tool failed."},
		"panic":    {func(context.Context, tool.Call) (tool.Output, error) { panic("secret") }, "error The tool failed."},
		"own":      {func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{Err: "Not today."}, nil }, "error Not today."},
		"nothing":  {func(context.Context, tool.Call) (tool.Output, error) { return tool.Output{}, nil }, "done "},
		"too long": {func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{Text: strings.Repeat("é", 60)}, nil
		}, "done " + strings.Repeat("é", 50) + "\n[20 bytes left out]"},
		"too long data": {func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{Data: jsontext.Value(`"` + strings.Repeat("x", 110) + `"`)}, nil
		}, "done \"" + strings.Repeat("x", 99) + "\n[12 bytes left out]"},
		"bad data": {func(context.Context, tool.Call) (tool.Output, error) {
			return tool.Output{Data: jsontext.Value("{\xff")}, nil
		}, "done {\uFFFD"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := modeltest.NewFake(modeltest.Called(call("x", `{}`)), modeltest.Spoken("ok"))
			r, e, err := turn(t, f, agent.Turn{Tools: []tool.Tool{does("x", "", tt.do)}, Limits: agent.Limits{OutputBytes: 100}})
			if err != nil || r.Text != "ok" {
				t.Errorf("result = %+v, %v", r, err)
			}
			wantLines(t, e, "start x{}", "end x "+tt.want)
		})
	}
}

func TestSinkFailure(t *testing.T) {
	t.Parallel()
	full := errors.New("disk full")
	for _, kind := range []string{"text", "reasoning", "start", "end", "router"} {
		f := modeltest.NewFake(
			modeltest.Answer{Deltas: []llm.Delta{{Reasoning: "a"}, {Text: "b"}, {ToolCalls: []tool.Call{call("x", `{}`), call("x", `{"n":1}`)}}}}, modeltest.Spoken("ok"))
		e := &ear{fail: map[string]error{kind: full}}
		x := echo("x")
		x.Describe.Agent = "sub_agent"
		r, err := agent.New(agent.Config{Model: f}).Turn(t.Context(), agent.Turn{User: said("x"), Tools: []tool.Tool{x}}, e)
		check(t, r, e)
		if !errors.Is(err, full) {
			t.Errorf("%s: error = %v, want that of the sink", kind, err)
		}
	}
}

func TestBrokenHistoryIsRepaired(t *testing.T) {
	t.Parallel()
	f := modeltest.NewFake(modeltest.Spoken("ok"))
	calls := []tool.Call{{ID: "a", Name: "x"}, {ID: "b", Name: "x"}, {ID: "c", Name: "x"}}
	_, _, err := turn(t, f, agent.Turn{History: []llm.Message{
		{Role: llm.Tool, ToolCallID: "z"},
		said("1"),
		{Role: llm.Assistant, ToolCalls: calls},
		{Role: llm.Tool, ToolCallID: "c", Content: "C"},
		{Role: llm.Tool, ToolCallID: "a", Content: "A"},
		{Role: llm.Tool, ToolCallID: "a", Content: "again"},
		said("2"),
		{Role: llm.Assistant, Reasoning: "interrupted before the first word"},
		{Role: llm.Tool, ToolCallID: "b"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range f.Requests()[0].Messages {
		got = append(got, string(m.Role)+m.ToolCallID+m.Content)
	}
	if s := strings.Join(got, ","); s != "user1,assistant,toolaA,toolbThe tool was not run: the turn ended first.,toolcC,user2,userhello" {
		t.Errorf("the model got %s", s)
	}
}

func TestModelFailures(t *testing.T) {
	t.Parallel()
	broken := &llm.Error{Kind: llm.Network, Retryable: true}
	f := modeltest.NewFake(modeltest.Answer{Deltas: []llm.Delta{{Text: "half an"}}, Err: broken})
	r, _, err := turn(t, f, agent.Turn{})
	if !errors.Is(err, error(broken)) || r.Text != "half an" || len(r.Messages) != 1 {
		t.Errorf("result = %+v, %v", r, err)
	}
	f = modeltest.NewFake(modeltest.Answer{Deltas: []llm.Delta{{ToolCalls: []tool.Call{call("x", "{}")}}}, Err: broken})
	r, e, err := turn(t, f, agent.Turn{Tools: []tool.Tool{echo("x")}})
	if err == nil || len(r.Messages) != 2 || len(e.lines) != 0 {
		t.Errorf("calls of a broken answer: %+v, %v, want them not run", r, e.lines)
	}
	r, _, err = turn(t, modeltest.NewFake(modeltest.Answer{Deltas: []llm.Delta{{Finish: "stop"}}}), agent.Turn{})
	if err != nil || r.Text != "The model gave no answer. Please ask again." {
		t.Errorf("silent model: %+v, %v", r, err)
	}
}

func TestTitle(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ answer, want string }{
		{"\"Stoves in\nKisumu\"", "Stoves in Kisumu"}, {strings.Repeat("long ", 100), strings.TrimSpace(strings.Repeat("long ", 16)[:79]) + "…"}, {"", ""},
	} {
		a := agent.New(agent.Config{Model: modeltest.NewFake(modeltest.Spoken(tt.answer))})
		if got, err := a.Title(t.Context(), "m", "How many stoves?", "Three."); err != nil || got != tt.want {
			t.Errorf("title of %q = %q, %v, want %q", tt.answer, got, err, tt.want)
		}
	}
	a := agent.New(agent.Config{Model: llm.Offline{}})
	if got, err := a.Title(t.Context(), "", "How many stoves?", "Three."); err != nil || got != "How many stoves?" {
		t.Errorf("offline title = %q, %v", got, err)
	}
}
