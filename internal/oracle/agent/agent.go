// Package agent is the loop between a model and its tools: it asks the model,
// runs the tools it calls, and asks again until there is an answer or a limit is
// reached. It knows neither HTTP nor storage.
//
// It promises that the messages it returns are well-formed whatever happens:
// every tool call has exactly one result, in the order of the calls, even after
// an abort, a timeout or a broken stream; that every started tool is reported as
// ended; that we never repeat a call which may have had an effect; and that no
// text of an internal error reaches a model or a caller. A call that is handed
// to the caller ends the turn; its result opens another.
package agent

import (
	"cmp"
	"context"
	"crypto/rand"
	"log/slog"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// How a tool ended, for Sink.ToolEnd.
const (
	StatusDone  = "done"
	StatusError = "error"
)

// Limits bound one turn. Zero values are the defaults.
type Limits struct {
	Rounds        int           // answers of the model; 10
	Calls         int           // tool calls that are run; 25
	Parallel      int           // of them at the same time; 8
	Repeats       int           // times the same call with the same arguments is run; 2
	ToolTimeout   time.Duration // of a tool that names none; 30 s
	OutputBytes   int           // of one tool's output; 64 KiB
	ContextTokens int           // estimated tokens of a request to the model; 100,000
	AnswerTokens  int           // of one answer; what the server has as default
	Tokens        int           // of all answers and what they are made of; any
	Temperature   *float64
}

// Turn is a user's message and everything needed to answer it.
type Turn struct {
	History []llm.Message // earlier messages, oldest first
	Session int64         // owner of the conversation, for Forget; 0: none
	System  string
	User    llm.Message // without content: the turn continues from the results in History
	Model   string      // empty: the default one
	// Customer is the language of a customer, see llm.Request.
	Customer string
	Tools    []tool.Tool
	// Ready treats the tools of sub-agents as Tools were treated: it makes them ask
	// the user. It may be nil.
	Ready  func([]tool.Tool) []tool.Tool
	Limits Limits
}

// Result is the result of a turn, even of one that failed half-way.
type Result struct {
	// Messages are the assistant and tool messages to store after the user's.
	// Each tool call in them has exactly one result.
	Messages  []llm.Message
	Text      string // all text as it was streamed
	Reasoning string
	Usage     llm.Usage // with that of sub-agents
	Rounds    int       // answers asked of the model
	Calls     int       // tools run
}

// Sink receives what happens in a turn, as it happens. It is called by one
// goroutine at a time. An error of a method ends the turn.
type Sink interface {
	Reasoning(text string) error
	Text(delta string) error
	ToolStart(c tool.Call, s tool.Spec) error
	ToolEnd(c tool.Call, s tool.Spec, o tool.Output, status string) error
	Router(step string) error
}

// Config configures an Agent.
type Config struct {
	Model  llm.Model
	Limits Limits        // defaults of all turns
	Log    *slog.Logger  // nil: silent
	NewID  func() string // ids of tool calls; nil: random
}

// Agent answers turns. It is safe for concurrent use.
type Agent struct {
	model     llm.Model
	limits    Limits
	log       *slog.Logger
	newID     func() string
	schemas   *tool.Checker
	summaries *memory
	running   sync.WaitGroup // tools that outlast their turn
}

// New makes an agent.
func New(c Config) *Agent {
	c.Log = cmp.Or(c.Log, slog.New(slog.DiscardHandler))
	if c.NewID == nil {
		c.NewID = newID
	}
	return &Agent{model: c.Model, limits: c.Limits.or(defaults()), log: c.Log, newID: c.NewID, schemas: tool.NewChecker(), summaries: newMemory()}
}

// Forget drops the cached summaries of a session that was deleted; 0 drops those
// of all sessions.
func (a *Agent) Forget(session int64) { a.summaries.forget(session) }

// Wait returns when no tool of an ended turn is running any more, or ctx ends.
// Call it when no further turn will start.
func (a *Agent) Wait(ctx context.Context) error {
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.running.Wait()
	}()
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func defaults() Limits {
	return Limits{Rounds: 10, Calls: 25, Parallel: 8, Repeats: 2, ToolTimeout: 30 * time.Second, OutputBytes: 64 << 10, ContextTokens: 100_000}
}

// or fills what l leaves open from d.
func (l Limits) or(d Limits) Limits {
	pick := func(v, d int) int {
		if v > 0 {
			return v
		}
		return d
	}
	l.Rounds, l.Calls, l.Repeats = pick(l.Rounds, d.Rounds), pick(l.Calls, d.Calls), pick(l.Repeats, d.Repeats)
	l.Parallel = pick(l.Parallel, d.Parallel)
	l.OutputBytes, l.ContextTokens = pick(l.OutputBytes, d.OutputBytes), pick(l.ContextTokens, d.ContextTokens)
	l.AnswerTokens, l.Tokens = pick(l.AnswerTokens, d.AnswerTokens), pick(l.Tokens, d.Tokens)
	if l.ToolTimeout <= 0 {
		l.ToolTimeout = d.ToolTimeout
	}
	if l.Temperature == nil {
		l.Temperature = d.Temperature
	}
	return l
}

// newID makes the id of a call: 9 letters and digits, the one form every model
// server takes back.
func newID() string {
	const letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	var b [9]byte
	_, _ = rand.Read(b[:]) // never fails
	for i, c := range b {
		b[i] = letters[int(c)%len(letters)]
	}
	return string(b[:])
}
