package db

import (
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// SetMaxFill lets a test keep a batch open for longer than 10 ms, so that a
// slow machine does not split it. Call it before the first InTx.
func (d *DB) SetMaxFill(limit time.Duration) { d.e.(*lite).w.maxFill = limit }

// OpenReaders is how many connections that read are open and free.
func (d *DB) OpenReaders() int {
	p := d.e.(*lite).readers
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.idle)
}

// OnWriter runs a script on the writer's connection; only inside a function
// given to InTx, whose goroutine owns the connection.
func (d *DB) OnWriter(script string) error { return d.e.(*lite).w.c.run(script) }

// Guard gives the next callers a savepoint each, as after a failure; only
// inside a function given to InTx.
func (d *DB) Guard(callers int) { d.e.(*lite).w.guard = callers }

// FailWriter makes statements on the writer's connection fail; nil heals it.
func (d *DB) FailWriter(f func(sql string) error) {
	if f == nil {
		d.e.(*lite).w.fail.Store(nil)
		return
	}
	d.e.(*lite).w.fail.Store(&f)
}

// StatementsCached tells how many statements the writer keeps; only inside a
// function given to InTx.
func (d *DB) StatementsCached() int { return len(d.e.(*lite).w.c.stmts) }

// MaxStmts is the bound of the statement cache.
const MaxStmts = maxStmts

// Pool is the PostgreSQL pool.
func (d *DB) Pool() *pgxpool.Pool { return d.e.(*pg).pools[Request] }

// NIDs makes numbers from a clock of the test's own.
func NIDs(instance int, now func() time.Time) func() int64 {
	n := newNIDs(instance)
	n.now = now
	return n.next
}

// LogLeft tells how many pages of the log are not in the file.
func (d *DB) LogLeft() (int64, error) {
	k := &copier{cfg: d.cfg}
	defer k.drop()
	if err := k.open(); err != nil {
		return 0, err
	}
	l, err := k.c.checkpoint(copyNone)
	return l.pages - l.copied, err
}

// Copier gives what looks after the log, to be called with the time. It tells
// whether it has done all until the next commit.
func (d *DB) Copier(t interface{ Cleanup(func()) }) func(now time.Time) (bool, error) {
	k := &copier{cfg: d.cfg, w: d.e.(*lite).w, pages: copyPages}
	t.Cleanup(k.drop)
	return func(now time.Time) (bool, error) {
		err := k.look(now)
		return k.done, err
	}
}

// CopyLog is what the store does with a log of this many pages. It tells how
// many pages the log has then.
func (d *DB) CopyLog(pages int64) (int64, error) {
	k := &copier{cfg: d.cfg, w: d.e.(*lite).w, pages: pages, seen: -1}
	defer k.drop()
	if err := k.look(time.Now()); err != nil {
		return 0, err
	}
	l, err := k.c.checkpoint(copyNone)
	return l.pages, err
}

// Path is the SQLite file.
func (d *DB) Path() string { return d.cfg.Path }

// RunOn runs a script on a connection of its own.
func RunOn(path, script string) error {
	c, err := openLiteConn(path, "busy_timeout=5000")
	if err != nil {
		return err
	}
	return errors.Join(c.run(script), c.close())
}

// CloseSoon makes Close wait briefly for rows left open.
func CloseSoon(c *Config) { c.closeWait = 50 * time.Millisecond }

// Clean is what Scrub does to a page.
var Clean = cleanPage

// MaxQueued is how many may wait for the writer.
const MaxQueued = maxQueued
