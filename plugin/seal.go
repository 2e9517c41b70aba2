package plugin

import (
	"context"
	"time"
)

// Box seals values with a key of the server's that is not in the database. Values are
// texts before and after. A sealed value opens only for the same plugin, user and name.
type Box interface {
	Seal(ctx context.Context, name string, value []byte) []byte
	// Open returns the original value, even of one that was stored before values were
	// sealed. Nil: it was sealed with a key that the server no longer has.
	Open(ctx context.Context, name string, value []byte) []byte
}

// Seals is a plugin whose values nobody can read in the database or a copy of it. It
// is given a Box before it is started, and uses Sealed in place of the Store of its
// Host. The server seals what the plugin stored earlier.
type Seals interface {
	SetBox(b Box)
}

// Sealed is a Store whose values are sealed, of 48,000 bytes at most; their names are
// not. Without a box it is the store itself.
func Sealed(s Store, b Box) Store {
	if b == nil {
		return s
	}
	return sealedStore{s, b}
}

type sealedStore struct {
	store Store
	box   Box
}

func (s sealedStore) User(ctx context.Context) (Shelf, error) {
	shelf, err := s.store.User(ctx)
	return sealedShelf{shelf, s.box}, err
}

func (s sealedStore) Session(ctx context.Context) (Shelf, error) {
	shelf, err := s.store.Session(ctx)
	return sealedShelf{shelf, s.box}, err
}

// sealedShelf is a Shelf of a Sealed store.
type sealedShelf struct {
	Shelf
	box Box
}

func (s sealedShelf) Get(ctx context.Context, name string) ([]byte, error) {
	value, err := s.Shelf.Get(ctx, name)
	if err != nil || value == nil {
		return nil, err
	}
	return s.box.Open(ctx, name, value), nil
}

func (s sealedShelf) Put(ctx context.Context, name string, value []byte) error {
	return s.Shelf.Put(ctx, name, s.box.Seal(ctx, name, value))
}

func (s sealedShelf) PutUntil(ctx context.Context, name string, value []byte, until time.Time) error {
	return s.Shelf.PutUntil(ctx, name, s.box.Seal(ctx, name, value), until)
}

// Entries leaves out values that can no longer be opened.
func (s sealedShelf) Entries(ctx context.Context, after string, limit int) ([]Entry, error) {
	entries, err := s.Shelf.Entries(ctx, after, limit)
	out := entries[:0]
	for _, e := range entries {
		if e.Value = s.box.Open(ctx, e.Name, e.Value); e.Value != nil {
			out = append(out, e)
		}
	}
	return out, err
}
