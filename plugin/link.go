package plugin

import (
	"context"
	"errors"
	"time"
)

// ErrNotLinked says that nobody is linked to a name, or no longer counts.
var ErrNotLinked = errors.New("nobody is linked to this name")

// MaxLinks is how many names of a plugin a user may be linked to.
const MaxLinks = 50

// Links ties names at another service to users of this one, so that a plugin can act
// for whoever speaks there. A link is made with the context of a request or a call
// of the user and with no other, and goes with an erasure. A name that somebody
// else has is theirs no longer.
type Links interface {
	// Link ties a name of at most MaxName bytes to the user of ctx, for so long; 0: until
	// Unlink.
	Link(ctx context.Context, name string, lasts time.Duration) error
	// Unlink unties a name from the user of ctx. ErrNotLinked: it was not theirs. Of two
	// at once one has it.
	Unlink(ctx context.Context, name string) error
	// Names are those of the user of ctx, in order.
	Names(ctx context.Context) ([]string, error)
	// As gives a context that acts for the user of a name: with the rights they have
	// whenever something is done. ErrNotLinked: there is none, or the key they linked it
	// with has ended.
	As(ctx context.Context, name string) (context.Context, error)
}

// Message is something a user says elsewhere than on a page.
type Message struct {
	Thread string // names the conversation of the user it belongs to, made when it is new
	Key    string // two messages of a thread with the same one are the same
	Title  string // of a new conversation
	Text   string
	Brief  string // tells the model how to answer, in the words of the plugin
}

// Answer is what the oracle said.
type Answer struct {
	Text string
	// Again says that a message with this key was there before: whoever sent that one
	// has its answer.
	Again bool
}
