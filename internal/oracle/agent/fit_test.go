package agent_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// long is a history of n turns of about 250 tokens each, some with tools.
func long(n int) []llm.Message {
	var out []llm.Message
	for i := range n {
		id := strconv.Itoa(i)
		out = append(out, said("question "+id+" "+strings.Repeat("x", 400)))
		if i%3 == 0 {
			out = append(out, llm.Message{Role: llm.Assistant, ToolCalls: []tool.Call{{ID: id, Name: "look"}}}, llm.Message{Role: llm.Tool, ToolCallID: id, Content: "row"})
		}
		out = append(out, llm.Message{Role: llm.Assistant, Content: "answer " + id + " " + strings.Repeat("y", 400)})
	}
	return out
}

// summariser counts what it is asked for and answers with fixed words.
type summariser struct {
	summaries, answers int
	last               llm.Request
	fail               error
	tooLong            int    // answers that do not fit, before one does
	before             func() // what happens while a summary is made
}

func (s *summariser) Stream(_ context.Context, r llm.Request, each func(llm.Delta) error) error {
	if r.Purpose == llm.Summary {
		s.summaries++
		if s.before != nil {
			s.before()
		}
		if s.fail != nil {
			return s.fail
		}
		return each(llm.Delta{Text: "They talked about questions.", Usage: &llm.Usage{Input: 5}})
	}
	s.answers++
	s.last = r
	if s.answers <= s.tooLong {
		return &llm.Error{Kind: llm.Unknown, TooLong: true}
	}
	return each(llm.Delta{Text: "ok"})
}

func size(messages []llm.Message) (n int) {
	for _, m := range messages {
		n += len(m.Content)/4 + 8
	}
	return n
}

func TestLongHistoryIsSummarised(t *testing.T) {
	t.Parallel()
	s := &summariser{}
	a := agent.New(agent.Config{Model: s, Limits: agent.Limits{ContextTokens: 4000}})
	ask := func(n int) {
		t.Helper()
		e := &ear{}
		r, err := a.Turn(t.Context(), agent.Turn{System: "Be kind.", History: long(n), User: said("and now?")}, e)
		check(t, r, e)
		if err != nil || r.Text != "ok" {
			t.Fatalf("result = %+v, %v", r, err)
		}
		if why := sendable(s.last.Messages); why != "" || size(s.last.Messages) > 4000 {
			t.Errorf("the model got %d tokens: %s", size(s.last.Messages), why)
		}
		if last := s.last.Messages[len(s.last.Messages)-1]; last.Content != "and now?" {
			t.Errorf("last message = %+v", last)
		}
	}
	ask(10)
	if s.summaries != 0 {
		t.Errorf("a short history was summarised")
	}
	ask(40)
	if m := s.last.Messages[1]; s.summaries != 1 || m.Role != llm.User || !strings.Contains(m.Content, "They talked about questions.") {
		t.Errorf("%d summaries, first message %+v", s.summaries, m)
	}
	newest := s.last.Messages[len(s.last.Messages)-2]
	if !strings.HasPrefix(newest.Content, "answer 39") {
		t.Errorf("newest message = %.40q, want the newest of the history", newest.Content)
	}
	for n := 41; n < 46; n++ { // the summary is used again while there is room
		ask(n)
	}
	if s.summaries != 1 {
		t.Errorf("%d summaries for turns that had room, want 1", s.summaries)
	}
	for n := 46; n < 100; n++ {
		ask(n)
	}
	if s.summaries < 3 || s.summaries > 12 {
		t.Errorf("%d summaries in 60 turns", s.summaries)
	}
}

func TestNoSummaryIsNoFailure(t *testing.T) {
	t.Parallel()
	s := &summariser{fail: &llm.Error{Kind: llm.Server}}
	e := &ear{}
	r, err := agent.New(agent.Config{Model: s, Limits: agent.Limits{ContextTokens: 4000}}).Turn(t.Context(), agent.Turn{History: long(40), User: said("x")}, e)
	check(t, r, e)
	if err != nil || !strings.Contains(s.last.Messages[0].Content, "left out") || size(s.last.Messages) > 4000 {
		t.Errorf("the model got %+v, %v", s.last.Messages[0], err)
	}
}

func TestOfflineLeavesTheOldestOut(t *testing.T) {
	t.Parallel()
	var first llm.Message
	m := llm.Func(func(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
		first = r.Messages[0]
		return llm.Offline{}.Stream(ctx, r, each)
	})
	e := &ear{}
	r, err := agent.New(agent.Config{Model: m, Limits: agent.Limits{ContextTokens: 4000}}).Turn(t.Context(), agent.Turn{History: long(40), User: said("help")}, e)
	check(t, r, e)
	if err != nil || !strings.Contains(first.Content, "offline model cannot summarise") || !strings.Contains(r.Text, "offline model") {
		t.Errorf("first message = %+v, %v", first, err)
	}
}

func TestServerSaysTooLong(t *testing.T) {
	t.Parallel()
	s := &summariser{tooLong: 1}
	e := &ear{}
	r, err := agent.New(agent.Config{Model: s}).Turn(t.Context(), agent.Turn{History: long(40), User: said("x")}, e)
	check(t, r, e)
	if err != nil || r.Text != "ok" || s.summaries != 1 || size(s.last.Messages) > 5000 {
		t.Errorf("result = %+v, %v after %d summaries with %d tokens", r, err, s.summaries, size(s.last.Messages))
	}
	s = &summariser{tooLong: 9}
	_, err = agent.New(agent.Config{Model: s}).Turn(t.Context(), agent.Turn{User: said("x")}, &ear{})
	var e2 *llm.Error
	if !errors.As(err, &e2) || !e2.TooLong || s.answers != 1 {
		t.Errorf("error = %v after %d answers, want TooLong after one: nothing can be left out", err, s.answers)
	}
}

func TestOldOutputsAreClipped(t *testing.T) {
	t.Parallel()
	big := does("big", "", func(_ context.Context, c tool.Call) (tool.Output, error) {
		return tool.Output{Text: string(c.Args) + strings.Repeat("z", 8000)}, nil
	})
	f := modeltest.NewFake(modeltest.Called(call("big", `{"n":1}`)), modeltest.Called(call("big", `{"n":2}`)), modeltest.Called(call("big", `{"n":3}`)), modeltest.Spoken("ok"))
	r, _, err := turn(t, f, agent.Turn{Tools: []tool.Tool{big}, Limits: agent.Limits{ContextTokens: 5000}})
	if err != nil {
		t.Fatal(err)
	}
	last := f.Requests()[3].Messages
	if n := size(last); n > 5000 || len(last[3].Content) > 1100 || len(last[7].Content) < 8000 {
		t.Errorf("the model got %d tokens; first output %d bytes, last %d", n, len(last[3].Content), len(last[7].Content))
	}
	if len(r.Messages[1].Content) < 8000 {
		t.Error("the stored output is clipped too")
	}
}

// A summary goes with the session it was made for, also when that happens while
// it is made; those of others stay.
func TestSummaryGoesWithItsSession(t *testing.T) {
	t.Parallel()
	s := &summariser{}
	a := agent.New(agent.Config{Model: s, Limits: agent.Limits{ContextTokens: 4000}})
	ask := func(when string, session int64, n, want int) {
		t.Helper()
		if _, err := a.Turn(t.Context(), agent.Turn{Session: session, History: long(n), User: said("and now?")}, &ear{}); err != nil {
			t.Fatal(err)
		}
		if s.summaries != want {
			t.Errorf("%s: %d summaries were made, want %d", when, s.summaries, want)
		}
	}
	ask("at first", 1, 40, 1)
	ask("of another session", 2, 60, 2)
	ask("again", 1, 40, 2)
	a.Forget(1)
	ask("of the other session", 2, 60, 2)
	s.before = func() { a.Forget(1) }
	ask("once it is gone", 1, 40, 3)
	s.before = nil
	ask("once it is gone while one was made", 1, 40, 4)
	ask("again, and kept", 1, 40, 4)
	a.Forget(0)
	ask("once all are gone", 2, 60, 5)
}
