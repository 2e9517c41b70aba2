package modeltest

import (
	"context"
	"strconv"
	"sync"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Answer is one answer of a Fake: deltas, then an error or the end. With Hang
// it first waits for the end of its context.
type Answer struct {
	Deltas []llm.Delta
	Hang   bool
	Err    error
}

// Fake is a model without a connection. Each request gets the next answer, and
// the last one is repeated. It records its requests.
type Fake struct {
	OnHang func() // called before an answer hangs; may be nil

	mu       sync.Mutex
	answers  []Answer
	requests []llm.Request
}

var _ llm.Model = (*Fake)(nil)

// NewFake makes a model that gives answers in their order.
func NewFake(answers ...Answer) *Fake { return &Fake{answers: answers} }

// Stream gives the next answer.
func (f *Fake) Stream(ctx context.Context, r llm.Request, each func(llm.Delta) error) error {
	f.mu.Lock()
	f.requests = append(f.requests, r)
	var a Answer
	if len(f.answers) > 0 {
		a = f.answers[0]
	}
	if len(f.answers) > 1 {
		f.answers = f.answers[1:]
	}
	f.mu.Unlock()
	for _, d := range a.Deltas {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := each(d); err != nil {
			return err
		}
	}
	if a.Hang {
		if f.OnHang != nil {
			f.OnHang()
		}
		<-ctx.Done()
		return context.Cause(ctx)
	}
	return a.Err
}

// Requests lists what the model was asked so far.
func (f *Fake) Requests() []llm.Request {
	f.mu.Lock()
	defer f.mu.Unlock()
	return append([]llm.Request(nil), f.requests...)
}

// Words is an answer of n words and its end.
func Words(n int) Answer {
	var a Answer
	for i := range n {
		a.Deltas = append(a.Deltas, llm.Delta{Text: "word" + strconv.Itoa(i) + " "})
	}
	a.Deltas = append(a.Deltas, llm.Delta{Usage: &llm.Usage{Input: 10, Output: n}, Finish: "stop"})
	return a
}

// Spoken is an answer of one text.
func Spoken(text string) Answer {
	return Answer{Deltas: []llm.Delta{{Text: text}, {Finish: "stop"}}}
}

// Called is an answer of tool calls.
func Called(calls ...tool.Call) Answer {
	return Answer{Deltas: []llm.Delta{{ToolCalls: calls, Finish: "tool_calls"}}}
}
