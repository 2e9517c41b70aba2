package plugin

import (
	"context"
	"errors"
	"time"
)

// ErrNotLinked means that nobody is linked to a name, or that the link no
// longer counts.
var ErrNotLinked = errors.New("nobody is linked to this name")

// MaxLinks limits how many names of a plugin a user may be linked to.
const MaxLinks = 50

// Links ties names at another service to users of this one, so that a plugin can act
// for the people who write there. A link is made only with the context of a request
// or a call of the user, and is removed with an erasure. Linking a name again takes
// it from its previous user.
type Links interface {
	// Link ties a name of at most MaxName bytes to the user of ctx, for the given time;
	// 0: until Unlink.
	Link(ctx context.Context, name string, lasts time.Duration) error
	// Unlink unties a name from the user of ctx. ErrNotLinked: it was not theirs. Of two
	// calls at once, one succeeds.
	Unlink(ctx context.Context, name string) error
	// Names returns the names of the user of ctx, in order.
	Names(ctx context.Context) ([]string, error)
	// As returns a context that acts for the user of a name, with the rights they have
	// at the time of each action. ErrNotLinked: there is no such user, or the key they
	// linked it with has ended.
	As(ctx context.Context, name string) (context.Context, error)
}

// Message is something a user says outside a page.
type Message struct {
	Thread string // names the conversation of the user it belongs to, made when it is new
	Key    string // two messages of a thread with the same one are the same
	Title  string // of a new conversation
	Text   string
	Brief  string // instructions to the model on how to answer, written by the plugin
}

// Answer is what the oracle said.
type Answer struct {
	Text string
	// Again says that a message with this key was sent before: the sender of that one
	// has its answer.
	Again bool
}
