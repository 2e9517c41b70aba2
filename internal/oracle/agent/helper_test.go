package agent_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// ear is a sink that notes all it hears, as short lines.
type ear struct {
	mu    sync.Mutex
	busy  bool
	lines []string
	text  strings.Builder
	open  map[string]bool // started and not ended
	fail  map[string]error
	on    func(line string)
}

func (e *ear) note(kind, rest string) error {
	e.mu.Lock()
	if e.busy {
		panic("the sink is called by two goroutines at a time")
	}
	e.busy = true
	line := kind + " " + rest
	if kind == "text" {
		e.text.WriteString(rest)
	} else {
		e.lines = append(e.lines, line)
	}
	err, on := e.fail[kind], e.on
	e.mu.Unlock()
	if on != nil {
		on(line)
	}
	e.mu.Lock()
	e.busy = false
	e.mu.Unlock()
	return err
}

func (e *ear) Reasoning(text string) error { return e.note("reasoning", text) }
func (e *ear) Text(delta string) error     { return e.note("text", delta) }
func (e *ear) Router(step string) error    { return e.note("router", step) }

func (e *ear) ToolStart(c tool.Call, s tool.Spec) error {
	if e.open == nil {
		e.open = map[string]bool{}
	}
	if _, known := e.open[c.ID]; known || c.ID == "" || c.Name != s.Name || !c.Args.IsValid() {
		panic(fmt.Sprintf("tool call %+v starts twice or is not whole", c))
	}
	e.open[c.ID] = true
	return e.note("start", c.Name+string(c.Args))
}

func (e *ear) ToolEnd(c tool.Call, _ tool.Spec, o tool.Output, status string) error {
	if !e.open[c.ID] {
		panic(fmt.Sprintf("tool call %+v ends and was not started", c))
	}
	e.open[c.ID] = false
	return e.note("end", c.Name+" "+status+" "+o.String())
}

// closed fails the test when a started tool was not ended.
func (e *ear) closed(t interface {
	Errorf(string, ...any)
	Helper()
},
) {
	t.Helper()
	for id, open := range e.open {
		if open {
			t.Errorf("tool call %s was started and never ended", id)
		}
	}
}

// wellFormed says what is wrong with messages: every call needs exactly one
// result, right behind it and in order.
func wellFormed(messages []llm.Message) string {
	ids := map[string]bool{}
	for i := 0; i < len(messages); {
		m := messages[i]
		i++
		if m.Role != llm.Assistant {
			return fmt.Sprintf("message %d is a stray %s", i-1, m.Role)
		}
		if m.Content == "" && m.Reasoning == "" && len(m.ToolCalls) == 0 {
			return fmt.Sprintf("message %d is empty", i-1)
		}
		for _, c := range m.ToolCalls {
			if ids[c.ID] || c.ID == "" || !c.Args.IsValid() {
				return fmt.Sprintf("call %q is doubled, has no id or no arguments", c.ID)
			}
			ids[c.ID] = true
			if i == len(messages) || messages[i].Role != llm.Tool || messages[i].ToolCallID != c.ID || messages[i].ToolName != c.Name {
				return fmt.Sprintf("call %q of %s has no result in its place", c.ID, c.Name)
			}
			i++
		}
	}
	return ""
}

func call(name, args string) tool.Call {
	return tool.Call{ID: "same", Name: name, Args: jsontext.Value(args)}
}

// does makes a tool of a function.
func does(name, schema string, do func(ctx context.Context, c tool.Call) (tool.Output, error)) tool.Func {
	return tool.Func{Describe: tool.Spec{Name: name, Description: "Does " + name + ".", Schema: jsontext.Value(schema)}, Do: do}
}

// echo is a tool that gives its arguments back.
func echo(name string) tool.Func {
	return does(name, `{"type":"object"}`, func(_ context.Context, c tool.Call) (tool.Output, error) {
		return tool.Output{Data: c.Args}, nil
	})
}

func said(text string) llm.Message { return llm.Message{Role: llm.User, Content: text} }

// turn runs one turn of a fake model and checks what holds for all turns.
func turn(t *testing.T, f llm.Model, in agent.Turn) (agent.Result, *ear, error) {
	t.Helper()
	if in.User.Content == "" {
		in.User = said("hello")
	}
	e := &ear{}
	r, err := agent.New(agent.Config{Model: f}).Turn(t.Context(), in, e)
	check(t, r, e)
	return r, e, err
}

func check(t *testing.T, r agent.Result, e *ear) {
	t.Helper()
	if why := wellFormed(r.Messages); why != "" {
		t.Errorf("messages are not well-formed: %s\n%+v", why, r.Messages)
	}
	e.closed(t)
	if r.Text != e.text.String() {
		t.Errorf("text = %q, the sink heard %q", r.Text, e.text.String())
	}
}

func wantLines(t *testing.T, e *ear, want ...string) {
	t.Helper()
	if !slices.Equal(e.lines, want) {
		t.Errorf("heard\n%s\nwant\n%s", strings.Join(e.lines, "\n"), strings.Join(want, "\n"))
	}
}
