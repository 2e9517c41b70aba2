package plugin

import (
	"context"
	"time"
)

// Limits of a Shelf.
const (
	MaxName    = 128      // bytes of a name
	MaxValue   = 64 << 10 // bytes of a value
	MaxEntries = 1000     // values on a shelf
	MaxRead    = 2 << 20  // bytes of values that are read at once
)

// Store keeps what a plugin remembers of users. What it keeps goes with them: with
// an erasure, and what is of a conversation with the conversation. The ctx of its
// methods is that of a call, a request or a prompt: it says who the user is, and
// no plugin reaches what is of another user, or of another plugin.
type Store interface {
	// User is what is kept of the user, over all conversations. A user who comes with
	// two keys of different rights has two.
	User(ctx context.Context) (Shelf, error)
	// Session is what is kept of the conversation.
	Session(ctx context.Context) (Shelf, error)
}

// Shelf holds values by name. It must not be kept longer than the ctx it was
// made for.
type Shelf interface {
	// Get reads a value; nil: there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// Put stores a value, a text in UTF-8, in place of the one of that name.
	Put(ctx context.Context, name string, value []byte) error
	// PutUntil is Put for a value that ends at a time: nobody finds it from then on, and
	// it is removed soon.
	PutUntil(ctx context.Context, name string, value []byte, until time.Time) error
	// Delete removes a value, if it is there.
	Delete(ctx context.Context, name string) error
	// Entries reads values behind a name, in the order of their names: at most limit of
	// them, and fewer where they have more than MaxRead bytes together.
	Entries(ctx context.Context, after string, limit int) ([]Entry, error)
}

// Entry is a value of a Shelf.
type Entry struct {
	Name      string
	Value     []byte
	UpdatedAt time.Time
}
