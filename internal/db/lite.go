package db

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"
)

// lite is the SQLite engine: one writer, a pool of readers.
type lite struct {
	cfg     Config
	w       *writer
	readers *readers
	care    *care

	scrubbing chan struct{} // cap 1: holds the right to scrub
}

func openLite(ctx context.Context, cfg Config) (*lite, error) {
	durable := true
	switch strings.ToLower(cfg.Sync) {
	case "", "full":
	case "normal":
		durable = false
	default:
		return nil, fmt.Errorf("sync is %q; it may be full or normal", cfg.Sync)
	}
	w, err := newWriter(cfg, durable)
	if err != nil {
		return nil, err
	}
	l := &lite{cfg: cfg, w: w, readers: newReaders(cfg), scrubbing: make(chan struct{}, 1)}
	// A first reader now, so that a file that cannot be read fails at boot.
	if err := l.ping(ctx); err != nil {
		return nil, errors.Join(err, l.readers.close(), w.close())
	}
	l.care = startCare(cfg, w)
	return l, nil
}

// ping reads from the file: SELECT 1 alone would not touch it.
func (l *lite) ping(ctx context.Context) error {
	if err := l.w.look(); err != nil {
		return err
	}
	return l.queryRow(ctx, `SELECT count(*) FROM (SELECT 1 FROM sqlite_schema LIMIT 1)`, nil).Scan(new(int64))
}

func (l *lite) inTx(ctx context.Context, fn func(*Tx) error) error { return l.w.inTx(ctx, fn) }

// query keeps a reader until the rows are closed or ctx ends.
func (l *lite) query(ctx context.Context, sql string, args []any) (Rows, error) {
	c, err := l.readers.get(ctx)
	if err != nil {
		return nil, err
	}
	r, err := c.rows(ctx, sql, args)
	if err = cancelled(ctx, err); err != nil {
		l.readers.put(c, err)
		return nil, err
	}
	return newPoolRows(ctx, l, c, r), nil
}

// queryRow reads its row at once, so that a Row that is not scanned holds
// nothing. It runs without the context: statements that return one row are
// short, and watching a context costs as much as they do.
func (l *lite) queryRow(ctx context.Context, text string, args []any) Row {
	c, err := l.readers.get(ctx)
	if err != nil {
		return oneRow{err: err}
	}
	r, err := c.rows(context.WithoutCancel(ctx), text, args)
	if err != nil {
		l.readers.put(c, err)
		return oneRow{err: err}
	}
	found := r.Next()
	row := liteRow{r: r}
	if !found && r.err == nil {
		row.err = sql.ErrNoRows
	}
	r.end = true
	if err := r.close(); err != nil {
		row.err = err
	}
	l.readers.put(c, r.err)
	if err := l.w.settled(ctx); err != nil {
		return oneRow{err: err}
	}
	return row
}

// liteRow is a row already read.
type liteRow struct {
	r   *liteRows
	err error
}

func (r liteRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	return r.r.Scan(dest...)
}

// view is a read transaction on one reader.
func (l *lite) view(ctx context.Context, fn func(Querier) error) error {
	err := l.look(ctx, fn)
	if late := l.w.settled(ctx); late != nil {
		return late // even a failure can reveal something
	}
	return err
}

func (l *lite) look(ctx context.Context, fn func(Querier) error) error {
	c, err := l.readers.get(ctx)
	if err != nil {
		return err
	}
	v := &liteView{c: c}
	v.tx = newTx(v)
	if err := c.run("BEGIN"); err != nil {
		l.readers.put(c, err)
		return err
	}
	broken := true
	defer func() {
		v.tx.end(errTxOver)
		if err := c.run("ROLLBACK"); err != nil || broken {
			l.readers.drop(c)
			return
		}
		l.readers.put(c, nil)
	}()
	err = fn(v.tx)
	broken = false
	return cancelled(ctx, err)
}

// liteView is the session of a view: it may be interrupted, and cannot write.
type liteView struct {
	c  *liteConn
	tx *Tx
}

func (v *liteView) exec(context.Context, string, []any) (int64, error) { return 0, errReadOnly }

func (v *liteView) send(context.Context, string, []any) error { return errReadOnly }

func (v *liteView) query(ctx context.Context, sql string, args []any) (Rows, error) {
	r, err := v.c.rows(ctx, sql, args)
	if err != nil {
		return nil, cancelled(ctx, err)
	}
	return r, nil
}

var errReadOnly = errors.New("a view cannot write")

// cancelled gives the context's error when that is why a read was interrupted.
func cancelled(ctx context.Context, err error) error {
	if err != nil && liteCode(err)&0xff == sqlite3.SQLITE_INTERRUPT && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}

func (l *lite) durability() string {
	if strings.EqualFold(l.cfg.Sync, "normal") {
		return "normal"
	}
	return "full"
}

func (l *lite) close() error {
	err := l.w.close() // the watchdog must live until the queue is empty
	l.care.stop()
	return errors.Join(err, l.readers.close())
}
