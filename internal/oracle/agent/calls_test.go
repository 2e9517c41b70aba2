package agent_test

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/agent"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/llm/modeltest"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// many are so many calls of a tool, each with arguments of its own.
func many(name string, n int) []tool.Call {
	out := make([]tool.Call, n)
	for i := range out {
		out[i] = call(name, `{"n":`+strconv.Itoa(i)+`}`)
	}
	return out
}

// crowd is a tool that counts how many of it run at the same time.
type crowd struct {
	mu             sync.Mutex
	now, most, all int
}

func (c *crowd) tool() tool.Func {
	return does("crowd", `{"type":"object"}`, func(context.Context, tool.Call) (tool.Output, error) {
		c.mu.Lock()
		c.now, c.all = c.now+1, c.all+1
		c.most = max(c.most, c.now)
		c.mu.Unlock()
		<-time.After(time.Second) // of the bubble: everybody else who can run does
		c.mu.Lock()
		defer c.mu.Unlock()
		c.now--
		return tool.Output{Text: "done"}, nil
	})
}

// A hundred calls in one answer are no failure: those within the limit run, not
// all at once, and each of the rest is refused by a start and an end of its own
// and a result for the model, which then gives its answer.
func TestHundredCalls(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name                      string
		calls, limit, at          int
		wantRun, wantMost, wantIn int
	}{
		{"defaults", 100, 0, 0, 25, 8, 100},
		{"few", 3, 0, 0, 3, 3, 3},
		{"one after the other", 5, 10, 1, 5, 1, 5},
		{"all may run", 100, 100, 20, 100, 20, 100},
		{"far too many", 5000, 0, 0, 25, 8, 128},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var busy crowd
				f := modeltest.NewFake(modeltest.Called(many("crowd", c.calls)...), modeltest.Spoken("That was much."))
				r, e, err := turn(t, f, agent.Turn{Tools: []tool.Tool{busy.tool()}, Limits: agent.Limits{Calls: c.limit, Parallel: c.at}})
				if err != nil || r.Text != "That was much." {
					t.Fatalf("text %q, %v; want an answer", r.Text, err)
				}
				if busy.all != c.wantRun || r.Calls != c.wantRun || busy.most != c.wantMost {
					t.Errorf("%d tools run (%d counted), %d at once; want %d and %d", busy.all, r.Calls, busy.most, c.wantRun, c.wantMost)
				}
				if len(e.open) != c.wantIn || len(r.Messages[0].ToolCalls) != c.wantIn {
					t.Errorf("%d calls reported, %d stored; want %d", len(e.open), len(r.Messages[0].ToolCalls), c.wantIn)
				}
				for i, m := range r.Messages[1 : 1+c.wantIn] {
					if refused := strings.Contains(m.Content, "limit of 25 tool calls"); m.Failed != (i >= c.wantRun) || refused != m.Failed {
						t.Errorf("result %d = %+v", i, m)
					}
				}
				if got := f.Requests()[1].NoTools; got != (c.calls > c.wantRun) {
					t.Errorf("the model is told to call no more tools: %v", got)
				}
			})
		})
	}
}

// Calls that come in pieces of an answer count together.
func TestHundredCallsInPieces(t *testing.T) {
	t.Parallel()
	var a modeltest.Answer
	for _, c := range many("echo", 300) {
		a.Deltas = append(a.Deltas, llm.Delta{ToolCalls: []tool.Call{c}})
	}
	r, e, err := turn(t, modeltest.NewFake(a, modeltest.Spoken("ok")), agent.Turn{Tools: []tool.Tool{echo("echo")}})
	if err != nil || r.Calls != 25 || len(e.open) != 128 || r.Text != "ok" {
		t.Errorf("%d run of %d, text %q, %v; want 25 of 128", r.Calls, len(e.open), r.Text, err)
	}
}

// A turn that is stopped while calls wait for their place starts none of them.
func TestAbortWhileCallsWait(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stopped := errors.New("stopped by the user")
		ctx, cancel := context.WithCancelCause(t.Context())
		wait := does("wait", "", func(ctx context.Context, _ tool.Call) (tool.Output, error) {
			<-ctx.Done()
			return tool.Output{}, ctx.Err()
		})
		starts := 0
		e := &ear{on: func(line string) {
			if strings.HasPrefix(line, "start") {
				starts++
			}
		}}
		go func() {
			synctest.Wait() // all that may run are running
			cancel(stopped)
		}()
		a := agent.New(agent.Config{Model: modeltest.NewFake(modeltest.Called(many("wait", 20)...)), Limits: agent.Limits{Parallel: 3}})
		r, err := a.Turn(ctx, agent.Turn{User: said("x"), Tools: []tool.Tool{wait}}, e)
		check(t, r, e)
		if !errors.Is(err, stopped) || starts != 3 {
			t.Errorf("%d tools started, %v; want 3 and the cause", starts, err)
		}
		if m := r.Messages; len(m) != 21 || m[1].Content != "Tool did not complete" || m[20].Content != "The tool was not run: the turn ended first." {
			t.Errorf("messages = %+v", m)
		}
		if err := a.Wait(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// What is wrong with an argument is said once, though the fault names it twice.
func TestBadArgumentOnce(t *testing.T) {
	t.Parallel()
	picky := does("picky", `{"type":"object"}`, func(context.Context, tool.Call) (tool.Output, error) {
		return tool.Output{}, tool.BadArgument("names", "There is none.")
	})
	_, e, err := turn(t, modeltest.NewFake(modeltest.Called(call("picky", `{}`)), modeltest.Spoken("So.")), agent.Turn{User: said("x"), Tools: []tool.Tool{picky}})
	if err != nil {
		t.Fatal(err)
	}
	wantLines(t, e, "start picky{}", "end picky error names: There is none.")
}
