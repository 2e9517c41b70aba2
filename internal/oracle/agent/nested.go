package agent

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/hearth-dmrv/hearth/internal/oracle/llm"
	"github.com/hearth-dmrv/hearth/internal/oracle/tool"
)

// Limits of sub-agents.
const (
	maxDepth  = 3                // agents below the first that call each other
	maxNested = 20               // calls of agents in one turn
	subTime   = 2 * time.Minute  // of a sub-agent that names no time
	subTokens = 100_000          // of one that names none
	subLife   = time.Hour        // longer than any run: a sub-agent has a clock of its own
	awaitTime = time.Second      // for sub-agents to end what they have begun, once the turn is stopped
	maxSub    = 10 * time.Minute // of any sub-agent

	// finalShare is the share of its tokens that leaves an agent one last answer.
	finalShare = 0.75
)

// errSubTime says that the time of a sub-agent is over.
var errSubTime = errors.New("the time of the agent is over")

// root is what a turn and those nested in it share: one sink, which is called
// for one of them at a time and not after the turn has ended, and one bill.
type root struct {
	sink  Sink
	ready func([]tool.Tool) []tool.Tool
	tools toolset // of the first turn

	mu     sync.Mutex
	over   bool
	usage  llm.Usage
	nested int
}

var _ Sink = (*root)(nil)

// errOver ends what outlasts its turn.
var errOver = errors.New("the turn has ended")

func (r *root) hear(tell func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.over {
		return errOver
	}
	return tell()
}

// Reasoning passes a thought on.
func (r *root) Reasoning(text string) error {
	return r.hear(func() error { return r.sink.Reasoning(text) })
}

// Text passes a piece of the answer on.
func (r *root) Text(delta string) error { return r.hear(func() error { return r.sink.Text(delta) }) }

// ToolStart passes the start of a tool on.
func (r *root) ToolStart(c tool.Call, s tool.Spec) error {
	return r.hear(func() error { return r.sink.ToolStart(c, s) })
}

// ToolEnd passes the end of a tool on.
func (r *root) ToolEnd(c tool.Call, s tool.Spec, o tool.Output, status string) error {
	return r.hear(func() error { return r.sink.ToolEnd(c, s, o, status) })
}

// Router passes a step on.
func (r *root) Router(step string) error { return r.hear(func() error { return r.sink.Router(step) }) }

// end closes the sink and gives what everything has cost.
func (r *root) end() llm.Usage {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.over = true
	return r.usage
}

// enter reports whether one more agent may be called.
func (r *root) enter() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.nested++
	return r.nested <= maxNested
}

// aside is the sink of a sub-agent. Its words go to the model that called it, not
// to the user.
type aside struct{ *root }

// Text says nothing.
func (aside) Text(string) error { return nil }

// nest runs a sub-agent. It is the tool.Nester of the turn.
func (u *turn) nest(ctx context.Context, b *tool.Brief, task string) (tool.Output, error) {
	switch {
	case u.depth >= maxDepth:
		return tool.Output{Err: "Agents call each other at most three deep. Answer with what you have."}, nil
	case !u.root.enter():
		return tool.Output{Err: "The limit of 20 calls of agents in one turn is reached. Answer with what you have."}, nil
	}
	limit := min(b.Time, maxSub)
	if limit <= 0 {
		limit = subTime
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	v := u.below(b, task)
	v.clock = newClock(limit, func() { cancel(errSubTime) })
	defer v.clock.stand()
	err := v.answerAll(ctx)
	switch cause := context.Cause(ctx); {
	case err == nil:
		return tool.Output{Text: v.res.Text}, nil
	case errors.Is(cause, errSubTime):
		return tool.Output{Err: "The agent did not finish within " + limit.String() + "." + soFar(v.res.Text)}, nil
	case cause != nil:
		return tool.Output{}, cause
	}
	told := llm.Explain(err)
	u.a.log.WarnContext(ctx, "sub-agent failed", "tool", b.Step, "kind", string(told.Kind), "err", err.Error())
	return tool.Output{Err: told.Text + soFar(v.res.Text)}, nil
}

func soFar(text string) string {
	if text == "" {
		return ""
	}
	return " It has said: " + text
}

// below makes the turn of a sub-agent: its task is all it knows.
func (u *turn) below(b *tool.Brief, task string) *turn {
	own := slices.Clip(b.Tools)
	if u.root.ready != nil {
		own = u.root.ready(own)
	}
	for _, name := range b.Uses {
		if i, ok := u.root.tools.find(name); ok && u.root.tools.all[i].Spec().Kind == tool.Server {
			own = append(own, u.root.tools.all[i])
		}
	}
	l := Limits{Rounds: b.Rounds, Calls: b.Calls, Tokens: b.Tokens}.or(Limits{Tokens: subTokens}).or(u.a.limits)
	if l.AnswerTokens == 0 || l.AnswerTokens > l.Tokens {
		l.AnswerTokens = l.Tokens
	}
	model := b.Model
	if model == "" {
		model = u.model
	}
	v := newTurn(u.a, u.root, Turn{System: b.System, User: llm.Message{Content: task}, Model: model, Tools: own, Limits: l})
	for _, i := range v.hidden { // the author of the agent has chosen its tools
		v.specs = append(v.specs, v.tools.all[i].Spec())
	}
	v.hidden = nil
	v.sink, v.home, v.depth = aside{u.root}, b.Step, u.depth+1
	return v
}

// agent names the sub-agent whose turn it is, "" the first one.
func (u *turn) agent() string {
	if u.depth == 0 {
		return ""
	}
	return u.home
}

// pay notes what an answer has cost.
func (u *turn) pay(v llm.Usage) {
	u.res.Usage.Add(v)
	u.root.mu.Lock()
	defer u.root.mu.Unlock()
	u.root.usage.Add(v)
}

// estimate estimates the cost of an answer that its server did not count: servers do so
// at the end, and the answer may have been broken off just before. Its tokens cost what
// those of the turn did before.
func (u *turn) estimate(m *llm.Message) llm.Usage {
	v := llm.Usage{Input: tokens(u.head) + tokens(u.sent) + u.specTokens(), Reasoning: len(m.Reasoning) / bytesPerToken}
	v.Output = weight(m) - tokensPerPart + v.Reasoning
	if was := u.res.Usage; was.Cost > 0 {
		v.Cost = was.Cost * float64(v.Input+v.Output) / float64(max(1, was.Input+was.Output))
	}
	return v
}

// broke reports whether a share of the tokens of the turn is spent.
func (u *turn) broke(share float64) bool {
	if u.limits.Tokens <= 0 || u.res.Rounds == 1 {
		return false
	}
	return float64(u.res.Usage.Input+u.res.Usage.Output) >= share*float64(u.limits.Tokens)
}

// await gives sub-agents a moment to end what they have begun.
func (u *turn) await(jobs []job, ends <-chan outcome) {
	open := 0
	for i := range jobs {
		if j := &jobs[i]; j.spec.Sub != "" && j.started && !j.ended && j.tool != nil {
			open++
		}
	}
	late := time.NewTimer(awaitTime)
	defer late.Stop()
	for open > 0 {
		select {
		case o := <-ends:
			j := &jobs[o.index]
			if j.ended {
				continue
			}
			if j.spec.Sub != "" {
				open--
			}
			_ = u.end(j, o.out) // the turn has failed already
		case <-late.C:
			return
		}
	}
}

// asks reports whether a person may be asked before one of the jobs is done.
func asks(jobs []job) bool {
	for i := range jobs {
		if s := &jobs[i].spec; jobs[i].tool != nil && s.Kind == tool.Server && (!s.ReadOnly || s.Sub != "") {
			return true
		}
	}
	return false
}

// clock measures the time a sub-agent has. It stands while a person may be asked:
// the tools that ask have times of their own. A nil clock has no end.
type clock struct {
	left  time.Duration
	since time.Time
	timer *time.Timer
	over  func()
}

func newClock(left time.Duration, over func()) *clock {
	c := &clock{left: left, over: over}
	c.goOn()
	return c
}

func (c *clock) goOn() {
	if c != nil {
		c.since, c.timer = time.Now(), time.AfterFunc(max(c.left, 0), c.over)
	}
}

func (c *clock) stand() {
	if c != nil && c.timer.Stop() {
		c.left -= time.Since(c.since)
	}
}
