package db

import (
	"context"
	"slices"
)

// Change says that rows have changed that processes cache in some form: keys,
// forms, rules. Topic names the kind, Workspace the workspace; "" means all.
type Change struct{ Topic, Workspace string }

// Changed records a change that other processes on the store must learn of
// before it is answered. On SQLite it does nothing: there is one process.
func (t *Tx) Changed(topic, workspace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := (Change{topic, workspace}); t.Dialect() == Postgres && t.dead == nil && !slices.Contains(t.changes, c) {
		t.changes = append(t.changes, c)
	}
}

// OnChange makes f run in every transaction that has recorded changes, when
// only the commit is left: so locks that f takes are held only for the commit.
// Work to do after the commit, f passes to tx.AfterCommit. Call it before the
// first transaction; it is for PostgreSQL.
func (d *DB) OnChange(f func(ctx context.Context, tx *Tx, changes []Change) error) {
	if e, ok := d.e.(*pg); ok {
		e.onChange = f
	}
}

// tellChanges runs what OnChange was given.
func (e *pg) tellChanges(ctx context.Context, tx *Tx) error {
	if len(tx.changes) == 0 || e.onChange == nil {
		return nil
	}
	return e.onChange(ctx, tx, tx.changes)
}
