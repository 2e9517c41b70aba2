package db

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// session is one connection inside a transaction.
type session interface {
	exec(ctx context.Context, sql string, args []any) (int64, error)
	send(ctx context.Context, sql string, args []any) error
	query(ctx context.Context, sql string, args []any) (Rows, error)
}

// Tx is a running transaction. It is valid until the function it was given to
// returns. After a failed statement every further one fails too, as on
// PostgreSQL: use ON CONFLICT rather than trying and looking at the error.
type Tx struct {
	mu     sync.Mutex
	s      session
	dead   error // set once the transaction is over for fn
	failed error // the first statement error
	taken  bool  // the watchdog gave the connection to another goroutine
	open   map[*txRows]struct{}
	after  []func()

	changes []Change // on PostgreSQL
}

var errTxOver = errors.New("transaction is over")

func newTx(s session) *Tx { return &Tx{s: s} }

// Dialect returns the engine, for the few callers who must know.
func (t *Tx) Dialect() Dialect {
	switch t.s.(type) {
	case *liteConn, *liteView:
		return SQLite
	}
	return Postgres
}

// Exec runs a statement and returns how many rows it changed.
func (t *Tx) Exec(ctx context.Context, sql string, args ...any) (int64, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ready(ctx); err != nil {
		return 0, err
	}
	n, err := t.s.exec(ctx, sql, args)
	return n, t.note(err)
}

// Send runs a statement whose result is not needed; see Querier.
func (t *Tx) Send(ctx context.Context, sql string, args ...any) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.ready(ctx); err != nil {
		return err
	}
	return t.note(t.s.send(ctx, sql, args))
}

// Query runs a statement that returns rows. Close them before the next
// statement: PostgreSQL has one result at a time. Rows left open are closed
// when the transaction ends.
func (t *Tx) Query(ctx context.Context, sql string, args ...any) (Rows, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.start(ctx, sql, args)
}

// QueryRow runs a statement that returns at most one row.
func (t *Tx) QueryRow(ctx context.Context, sql string, args ...any) Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	rows, err := t.start(ctx, sql, args)
	return oneRow{rows: rows, err: err}
}

// AfterCommit makes f run once the transaction is stored, in the goroutine that
// called InTx and before InTx returns. It does not run after a rollback.
func (t *Tx) AfterCommit(f func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead == nil {
		t.after = append(t.after, f)
	}
}

func (t *Tx) start(ctx context.Context, sql string, args []any) (Rows, error) {
	if err := t.ready(ctx); err != nil {
		return nil, err
	}
	r, err := t.s.query(ctx, sql, args)
	if err != nil {
		return nil, t.note(err)
	}
	tr := &txRows{tx: t, r: r}
	if t.open == nil {
		t.open = make(map[*txRows]struct{}, 1)
	}
	t.open[tr] = struct{}{}
	return tr, nil
}

// ready reports whether another statement may run. The caller holds mu.
func (t *Tx) ready(ctx context.Context) error {
	switch {
	case t.dead != nil:
		return t.dead
	case t.failed != nil:
		return fmt.Errorf("statement after a failed one: %w", t.failed)
	}
	return ctx.Err()
}

// note keeps the first statement error. The caller holds mu.
func (t *Tx) note(err error) error {
	if err != nil && t.failed == nil {
		t.failed = err
	}
	return err
}

// end makes the transaction useless for its function and closes its rows. It
// reports false when the watchdog was there first, and the first statement
// error, which closing may reveal.
func (t *Tx) end(cause error) (mine bool, failed error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.taken {
		return false, nil
	}
	t.closeRows()
	t.dead = cause
	return true, t.failed
}

// take is end for the watchdog. It returns false when the function has
// already returned.
func (t *Tx) take(cause error) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.dead != nil {
		return false
	}
	t.closeRows()
	t.dead, t.taken = cause, true
	return true
}

func (t *Tx) closeRows() {
	for r := range t.open {
		t.note(r.r.Close())
	}
	t.open = nil
}

// txRows are rows that die with their transaction.
type txRows struct {
	tx  *Tx
	r   Rows
	err error
}

func (r *txRows) Next() bool {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	if r.tx.dead != nil {
		r.err = r.tx.dead
		return false
	}
	if r.r.Next() {
		return true
	}
	r.tx.note(r.r.Err())
	return false
}

func (r *txRows) Scan(dest ...any) error {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	if r.tx.dead != nil {
		return r.tx.dead
	}
	return r.r.Scan(dest...)
}

func (r *txRows) Err() error {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return r.r.Err()
}

func (r *txRows) Close() error {
	r.tx.mu.Lock()
	defer r.tx.mu.Unlock()
	if _, ok := r.tx.open[r]; !ok {
		return nil
	}
	delete(r.tx.open, r)
	return r.tx.note(r.r.Close())
}
