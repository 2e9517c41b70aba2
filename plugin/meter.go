package plugin

import "context"

// Usage is what an answer has used of models, including its sub-agents.
type Usage struct {
	Model         string
	Input, Output int
	Cost          float64 // as the model's server says, in its currency; 0 when it does not
}

// Meters is a plugin that counts what answers use, for example to charge for
// it.
type Meters interface {
	// Settle is called once for each answer that Before has admitted, with its
	// outcome; turn has the same RunID as there. used is nil when the answer never
	// began: something else refused it, or it is one that was begun before and is sent
	// again. A server that dies does not call it. It returns what the user pays, in
	// credits, which is shown with the run.
	Settle(ctx context.Context, turn Turn, used *Usage) (credits int64, err error)
}
