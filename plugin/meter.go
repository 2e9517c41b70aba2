package plugin

import "context"

// Usage is what an answer has used of models, with all that its sub-agents did.
type Usage struct {
	Model         string
	Input, Output int
	Cost          float64 // as the model's server says, in its currency; 0 when it does not
}

// Meters is a plugin that counts what answers use, such as to charge for it.
type Meters interface {
	// Settle is told once what became of each answer that Before has let in; the turn
	// has the RunID it had there. used is nil when the answer never began: it was
	// refused by somebody else, or is one that was begun before and is sent again. A
	// server that dies tells nobody. It gives what the user pays, in credits, which is
	// shown with the run.
	Settle(ctx context.Context, turn Turn, used *Usage) (credits int64, err error)
}
