package db

import (
	"context"
	"slices"
)

// Change says that rows have changed of which processes keep something in
// memory: keys, forms, rules. Topic names what, Workspace where; "" is all.
type Change struct{ Topic, Workspace string }

// Changed notes a change that other processes on the store must hear of before
// it is answered. On SQLite it does nothing: there is one process.
func (t *Tx) Changed(topic, workspace string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := (Change{topic, workspace}); t.Dialect() == Postgres && t.dead == nil && !slices.Contains(t.changes, c) {
		t.changes = append(t.changes, c)
	}
}

// OnChange has f run in every transaction that has noted changes, when only
// the commit is left: locks that f takes are held for the commit alone. What is
// to follow the commit, f gives to tx.AfterCommit. Call it before the first
// transaction; it is for PostgreSQL.
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
