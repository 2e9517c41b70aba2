package db

import (
	"context"
	"time"
)

// Call is a transaction in progress. Exactly one goroutine uses it.
type Call struct {
	r    *request           // on SQLite: the one in the writer's queue
	done chan result        // cap 1
	quit context.CancelFunc // on PostgreSQL: ends the wait for a connection
}

// Start begins an InTx without waiting for it, for callers who cannot wait to
// the end: on SQLite it saves them a goroutine. When too many wait for the
// writer the call is over at once, with the fault STORE_UNAVAILABLE.
func (d *DB) Start(ctx context.Context, fn func(tx *Tx) error) *Call { return d.e.start(ctx, fn) }

func (l *lite) start(ctx context.Context, fn func(*Tx) error) *Call {
	r := &request{ctx: ctx, fn: fn, done: make(chan result, 1)}
	c := &Call{r: r, done: r.done}
	if err := l.w.send(ctx, r, false); err != nil {
		r.answer(result{err: err})
	}
	return c
}

func (e *pg) start(ctx context.Context, fn func(*Tx) error) *Call {
	ctx, cancel := context.WithCancel(ctx)
	c := &Call{done: make(chan result, 1), quit: cancel}
	go func() {
		defer cancel()
		res := result{goexit: true}
		defer func() {
			if v := recover(); v != nil {
				res = result{panic: newPanic(v)}
			}
			c.done <- res
		}()
		res = result{err: e.inTx(ctx, fn)}
	}()
	return c
}

// Wait returns what InTx would return, or false when stop came first. Then it
// may be called again.
func (c *Call) Wait(stop <-chan time.Time) (bool, error) {
	select {
	case res := <-c.done:
		return true, res.tell(c.after())
	case <-stop:
	}
	select { // both came at once
	case res := <-c.done:
		return true, res.tell(c.after())
	default:
		return false, nil
	}
}

func (c *Call) after() []func() {
	if c.r == nil {
		return nil // they have run
	}
	return c.r.after
}

// Quit withdraws the transaction if it has not begun. When it returns true
// nothing has run and nothing will; otherwise Wait still has the answer.
func (c *Call) Quit() bool {
	if c.r != nil {
		return c.r.state.CompareAndSwap(queued, dropped)
	}
	c.quit()
	return false
}
