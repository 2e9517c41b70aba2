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

// Store keeps what a plugin remembers about users. An erasure removes what it
// keeps of the user, and the end of a conversation what it keeps of the
// conversation. The ctx of its methods is that of a call, a request or a prompt,
// which identifies the user: no plugin reaches the data of another user, or of
// another plugin.
type Store interface {
	// User is the shelf of the user, across all conversations. A user who comes with
	// two keys of different rights has two.
	User(ctx context.Context) (Shelf, error)
	// Session is the shelf of the conversation.
	Session(ctx context.Context) (Shelf, error)
}

// Shelf holds values by name. It must not be used longer than the ctx it was
// made for.
type Shelf interface {
	// Get reads a value; nil: there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// Put stores a value, a text in UTF-8, and replaces the one of that name.
	Put(ctx context.Context, name string, value []byte) error
	// PutUntil is Put for a value that expires: nobody finds it after that time, and it
	// is removed soon.
	PutUntil(ctx context.Context, name string, value []byte, until time.Time) error
	// Delete removes a value, if it exists.
	Delete(ctx context.Context, name string) error
	// Entries reads values after a name, in the order of their names: at most limit of
	// them, and fewer if they have more than MaxRead bytes together.
	Entries(ctx context.Context, after string, limit int) ([]Entry, error)
}

// Entry is a value of a Shelf.
type Entry struct {
	Name      string
	Value     []byte
	UpdatedAt time.Time
}
