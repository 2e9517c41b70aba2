package db

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"
)

var errLeft = errors.New("rows were left open")

// readers is the pool of SQLite connections that only read. Each keeps the
// whole schema and its own statements and pages, so another one is opened only
// when all open ones are in use, and the last used is taken first.
type readers struct {
	cfg   Config
	slots chan struct{} // one for each connection that may be taken, open or not

	mu   sync.Mutex
	idle []*liteConn // the one used last is at the end

	closing sync.Mutex
	done    chan struct{} // closed by close
}

func newReaders(cfg Config) *readers {
	p := &readers{cfg: cfg, slots: make(chan struct{}, cfg.Readers), done: make(chan struct{})}
	for range cfg.Readers {
		p.slots <- struct{}{}
	}
	return p
}

// get waits for a free connection.
func (p *readers) get(ctx context.Context) (*liteConn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-p.slots:
	default:
		select {
		case <-p.slots:
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-p.done:
			return nil, errClosed()
		}
	}
	select {
	case <-p.done:
		p.slots <- struct{}{}
		return nil, errClosed()
	default:
	}
	if c := p.pop(); c != nil {
		return c, nil
	}
	c, err := openLiteConn(p.cfg.Path, busyPragma(p.cfg.Busy), "query_only=ON", "foreign_keys=ON")
	if err != nil {
		p.slots <- struct{}{}
		return nil, err
	}
	return c, nil
}

// pop takes the open connection that was used last, nil when all have work.
func (p *readers) pop() *liteConn {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := len(p.idle)
	if n == 0 {
		return nil
	}
	c := p.idle[n-1]
	p.idle = slices.Delete(p.idle, n-1, n)
	return c
}

// put returns a connection. One with a file error is replaced.
func (p *readers) put(c *liteConn, err error) {
	if err != nil && liteTrouble(err) {
		p.drop(c)
		return
	}
	p.mu.Lock()
	p.idle = append(p.idle, c)
	p.mu.Unlock()
	p.slots <- struct{}{}
}

// drop closes a connection and leaves its place empty.
func (p *readers) drop(c *liteConn) {
	if err := c.close(); err != nil {
		p.cfg.Log.Warn("close reader", "err", err)
	}
	p.slots <- struct{}{}
}

// close waits for the readers in use, then closes all.
func (p *readers) close() error {
	p.closing.Lock()
	defer p.closing.Unlock()
	select {
	case <-p.done:
		return nil
	default:
		close(p.done)
	}
	var errs []error
	late := time.After(p.cfg.closeWait)
	for range p.cfg.Readers {
		select {
		case <-p.slots:
			if c := p.pop(); c != nil {
				errs = append(errs, c.close())
			}
		case <-late:
			return errors.Join(append(errs, errLeft)...)
		}
	}
	return errors.Join(errs...)
}

// poolRows are rows that give their reader back: when closed, when read to
// the end, or at the latest when the caller's context ends.
type poolRows struct {
	mu   sync.Mutex
	ctx  context.Context //nolint:containedctx // the rows end with it
	l    *lite
	c    *liteConn // nil once given back
	r    *liteRows
	stop func() bool
	err  error
}

func newPoolRows(ctx context.Context, l *lite, c *liteConn, r *liteRows) *poolRows {
	pr := &poolRows{ctx: ctx, l: l, c: c, r: r}
	pr.mu.Lock() // abandon may run before stop is set
	defer pr.mu.Unlock()
	pr.stop = context.AfterFunc(ctx, pr.abandon)
	return pr
}

// abandon ends rows whose caller has gone.
func (r *poolRows) abandon() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c != nil {
		r.err = r.ctx.Err()
		r.giveBack()
	}
}

func (r *poolRows) Next() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c == nil {
		return false
	}
	if r.r.Next() {
		return true
	}
	r.err = cancelled(r.ctx, r.r.err)
	r.giveBack()
	if err := r.l.w.settled(r.ctx); r.err == nil {
		r.err = err
	}
	return false
}

func (r *poolRows) Scan(dest ...any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.err != nil {
		return r.err
	}
	return r.r.Scan(dest...)
}

func (r *poolRows) Err() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

func (r *poolRows) Close() error {
	r.stop()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.c == nil {
		return nil
	}
	r.giveBack()
	return r.l.w.settled(r.ctx)
}

func (r *poolRows) giveBack() {
	err := cancelled(r.ctx, r.r.Close())
	r.l.readers.put(r.c, errors.Join(r.err, err))
	r.c = nil
	r.stop()
}
