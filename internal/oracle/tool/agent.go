package tool

import (
	"context"
	"time"
)

// Brief is a sub-agent: an agent with instructions, tools and a budget of its
// own, which the model of a turn calls like a tool. Zero limits are the defaults.
type Brief struct {
	Step   string // its name in the events that say where a run is
	System string
	Model  string   // "": that of the turn
	Tools  []Tool   // its own
	Uses   []string // names of tools of the turn that it has too
	Rounds int      // answers of the model
	Calls  int      // tool calls that are run
	Tokens int      // of all answers and what they were made of
	Time   time.Duration
}

// Nester runs a sub-agent on a task, inside the turn whose context it was given
// with.
type Nester func(ctx context.Context, b *Brief, task string) (Output, error)

type nestKey struct{}

// WithNest gives a context in which sub-agents can be run.
func WithNest(ctx context.Context, n Nester) context.Context {
	return context.WithValue(ctx, nestKey{}, n)
}

// Nest runs a sub-agent in the turn of ctx.
func Nest(ctx context.Context, b *Brief, task string) (Output, error) {
	if n, ok := ctx.Value(nestKey{}).(Nester); ok {
		return n(ctx, b, task)
	}
	return Output{Err: "An agent can only be called in a conversation."}, nil
}
